import { expect, it } from "vitest";
import { loggableFields, redactedText } from "../../src/log-redaction.js";

it.each([
  ["postgres://app:pw@db:5432/shop", "postgres://***@db:5432/shop"],
  ["at redis://:p@ss/w0rd@cache and on", "at redis://***@cache and on"],
  ['url "https://user@host/x" refused', 'url "https://***@host/x" refused'],
  ["https://example.com/path is plain", "https://example.com/path is plain"],
  ["postgres://db/shop?user=a&password=pw&sslmode=off", "postgres://db/shop?user=a&password=***&sslmode=off"],
  ["host=db password='a b' dbname=shop", "host=db password=*** dbname=shop"],
  ['{"apiKey":"k","api_key": "k2"}', '{"apiKey":***,"api_key": ***}'],
  ["Authorization: Basic dXNlcjpwdw==", "Authorization: *** ***"],
  ["DB_PASSWORD=x PGPASSWORD=y pass=z", "DB_PASSWORD=*** PGPASSWORD=*** pass=***"],
  ["AWS_SECRET_ACCESS_KEY=x, refresh_token=y", "AWS_SECRET_ACCESS_KEY=***, refresh_token=***"],
  ['{"db_password":"a \\"b\\" c","n":1}', '{"db_password":***,"n":1}'],
  ['{"body":"{\\"token\\":\\"a b\\"}"}', '{"body":"{\\"token\\":***}"}'],
  ["{ dbPassword: 'a b', private_key=c }", "{ dbPassword: ***, private_key=*** }"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- ends", "*** ends"],
  ["Authorization: Token x was sent", "Authorization: *** *** was sent"],
  ['"authorization":"ApiKey x"', '"authorization":***'],
  ["authorization=ApiKey x", "authorization=*** ***"],
  ["to postgres://u:S3 CRET@h/d and on", "to postgres://***@h/d and on"],
  ["to postgres://u:S3 C@RET@h/d and on", "to postgres://***@h/d and on"],
  ["postgres://db:5432/shop refused a@b", "postgres://db:5432/shop refused a@b"],
  ["sent Bearer abc.def-ghi", "sent Bearer ***"],
  ['k 01 failed: threw {"card":"4111"}', "k 01 failed: threw an object (the job's lastError has it)"],
  ["threw undefined", "threw undefined"],
  ["a claimed 3 of inbox under token 12", "a claimed 3 of inbox under token 12"],
])("%s", (text, redacted) => {
  expect(redactedText(text)).toBe(redacted);
});

it("a text of any shape is redacted in a time that follows its length", () => {
  const parts = ["a", "ab://", "ab://u:p ", "password=", 'password="', "authorization: a ", "=", "\\", " "];
  for (const part of [...parts, "-----BEGIN PRIVATE KEY-----", 'token\\"', ':"\\', "@", "threw {", "Basic "])
    expect(redactedText(part.repeat(100_000 / part.length)).length).toBeLessThanOrEqual(8_000);
});

it("a text is redacted before it is cut, and what is cut off tells no half of a secret", () => {
  const filler = "x ".repeat(3_990);
  const told = redactedText(`${filler}postgres://u:${"p".repeat(100)}@h/d`);
  expect(told.slice(filler.length)).toBe("postgres://***@h/d");
  const secret = "S3CRET";
  for (const start of [
    "postgres://u:",
    "postgres://u:a ",
    'password="a ',
    "password=",
    "Authorization: Token ",
  ])
    for (let length = 15_960; length <= 16_000; length++) {
      // What is taken out before leaves room for what stands at the limit.
      const long = `password=${"p".repeat(length - 10)} `;
      expect(redactedText(`${long}${start}${secret}@h" ${"y".repeat(9_000)}`)).not.toMatch(/S3|CRET/);
    }
});

it("fields are plain data: no bigint, and of an error its words alone", () => {
  const error = Object.assign(new TypeError("at postgres://u:p@h/d"), { detail: "(payload)" });
  const fields = loggableFields({ token: 7n, error, count: 3, list: [1], nothing: null });
  expect(fields).toEqual({
    token: "7",
    error: "TypeError: at postgres://***@h/d",
    count: 3,
    list: [1],
    nothing: null,
  });
  const hostile = {
    toString: () => {
      throw new Error("no");
    },
  };
  expect(loggableFields({ error: hostile })).toEqual({ error: "an error that can't be described" });
});
