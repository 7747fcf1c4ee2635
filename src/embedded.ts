export type { PostgresServer } from "./adapters/embedded-postgres/postgres-server.js";
export type { StopMode } from "./adapters/embedded-postgres/postmaster.js";
export {
  findPostgres,
  type StartPostgresOptions,
  startPostgres,
} from "./adapters/embedded-postgres/start-postgres.js";
export { EmbeddedPostgresError } from "./errors.js";
