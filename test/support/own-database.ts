import pg from "pg";
import { inject, onTestFinished } from "vitest";

let count = 0;

type Settings = Readonly<Record<string, string>>;

/**
 * A database of its own for one test, dropped afterwards, so that settings reach nobody else. Settings are given as SQL has them:
 * { search_path: "hostile, public" }. Resolves with its address.
 */
export async function ownDatabase(settings: Settings = {}, owner?: string): Promise<URL> {
  const name = newName("d");
  const own = owner === undefined ? "" : ` owner ${owner}`;
  await onServer(`create database ${name}${own}`);
  onTestFinished(() => onServer(`drop database if exists ${name} with (force)`));
  await set(`database ${name}`, settings);
  const url = new URL(inject("databaseUrl"));
  url.pathname = `/${name}`;
  return url;
}

/** A role of its own for one test, dropped afterwards, which may log in and nothing else. Resolves with its address on the server of the test run. */
export async function ownRole(settings: Settings = {}, attributes = ""): Promise<URL> {
  const name = newName("r");
  const password = Math.random().toString(36).slice(2);
  await onServer(`create role ${name} login password '${password}' ${attributes}`);
  onTestFinished(() => onServer(`drop role ${name}`));
  await set(`role ${name}`, settings);
  const url = new URL(inject("databaseUrl"));
  url.username = name;
  url.password = password;
  return url;
}

/** The same with every right, so that it can make its own schema. */
export async function ownSuperuser(settings: Settings): Promise<URL> {
  return await ownRole(settings, "superuser");
}

function newName(prefix: string): string {
  return `${prefix}${process.pid}_${++count}_${Math.random().toString(36).slice(2, 8)}`;
}

async function set(what: string, settings: Settings): Promise<void> {
  for (const [setting, value] of Object.entries(settings))
    await onServer(`alter ${what} set ${setting} to ${value}`);
}

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
