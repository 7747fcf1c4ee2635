import { expect, onTestFinished, test } from "vitest";
import { setup } from "../support/world.js";

/** What docs/operating.md says of each role: nobody changes a payload in place, and who may delete can replace a job. */

const statements = {
  update: "update leasehold.inbox set payload = '2' where id = $1",
  delete: "delete from leasehold.inbox where id = $1",
  read: "select payload from leasehold.inbox where id = $1",
};

const denied = "42501";

const expected = {
  producer: { update: denied, delete: denied, read: denied },
  viewer: { update: denied, delete: denied, read: "" },
  worker: { update: denied, delete: "", read: "" },
  operator: { update: denied, delete: "", read: "" },
};

test("each role may do to a payload what the page says", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.lh.grant();
  const names = Object.keys(expected).map((role) => `${world.schema}_${role}`);
  onTestFinished(async () => void (await world.sql(`drop owned by ${names}; drop role ${names}`)));
  const { id } = await inbox.enqueue("x", 1);
  const client = await world.client();
  const ask = async (role: string, text: string): Promise<string> => {
    await client.query("begin");
    await client.query(`set local role ${world.schema}_${role}`);
    const code = await client.query(text.replaceAll("leasehold.", `${world.schema}.`), [id]).then(
      () => "",
      (error: { code: string }) => error.code,
    );
    await client.query("rollback");
    return code;
  };
  const answers: Record<string, Record<string, string>> = {};
  for (const role of Object.keys(expected)) {
    const said: Record<string, string> = {};
    for (const [what, text] of Object.entries(statements)) said[what] = await ask(role, text);
    answers[role] = said;
  }
  expect(answers).toEqual(expected);
});
