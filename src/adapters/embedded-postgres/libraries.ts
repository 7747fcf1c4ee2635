import { mkdir, readFile, readlink, rm, stat, symlink } from "node:fs/promises";
import { basename, delimiter, join } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";
import { systemErrorCode } from "./system-error-code.js";

/**
 * The server finds its libraries through symbolic links that npm packages cannot hold: the package of binaries makes
 * them in an install script, which many installations do not run. Where they are missing they are made in
 * `linksFolder`, so the installed package stays as it is. Returns the environment that the programs need for that.
 */
export async function libraryEnvironment(folders: {
  readonly nativeFolder: string;
  readonly linksFolder: string;
}): Promise<Record<string, string>> {
  const libraryFolder = join(folders.nativeFolder, "lib");
  const links = await readLinks(join(folders.nativeFolder, "pg-symlinks.json"));
  const isPresent = await Promise.all(links.map(({ name }) => exists(join(libraryFolder, name))));
  if (isPresent.every(Boolean)) return {};

  await mkdir(folders.linksFolder, { recursive: true });
  for (const { name, library } of links) {
    await ensureLink(join(folders.linksFolder, name), join(libraryFolder, library));
  }
  // Both folders are needed: a library found through a link looks for its own libraries beside the link.
  const variable = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  const inherited = process.env[variable];
  const path = [folders.linksFolder, libraryFolder, ...(inherited ? [inherited] : [])];
  return { [variable]: path.join(delimiter) };
}

interface Link {
  /** The name that the programs ask for, such as `libpq.so.5`. */
  readonly name: string;
  /** The file that it stands for, such as `libpq.so.5.18`. */
  readonly library: string;
}

/** The package lists its links as `{ source, target }`, both of them files in `native/lib`. */
async function readLinks(listPath: string): Promise<Link[]> {
  if (!(await exists(listPath))) return [];
  const list: unknown = JSON.parse(await readFile(listPath, "utf8"));
  if (!Array.isArray(list)) throw new EmbeddedPostgresError(`${listPath} does not hold a list.`);
  return list.map((entry: { source: unknown; target: unknown }) => ({
    name: basename(String(entry.target)),
    library: basename(String(entry.source)),
  }));
}

/** Two processes may do this at once for the same kept folder; both want the same link, so the first one wins. */
async function ensureLink(path: string, library: string): Promise<void> {
  if ((await readlink(path).catch(absent)) === library) return;
  await rm(path, { force: true });
  try {
    await symlink(library, path);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(absent)) !== undefined;
}

function absent(error: unknown): undefined {
  if (systemErrorCode(error) !== "ENOENT") throw error;
  return undefined;
}
