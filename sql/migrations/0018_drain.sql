--! scope: schema
--
-- An operator asks a worker to drain by setting `drain_asked_at` in its row. Its next heartbeat reads it, and the worker stops in good order: what runs finishes, the rest
-- is handed back. A process that registers under the id later was not asked.
-- The request is an entry of the history, worker:drain_asked.

alter table leasehold.workers add column if not exists drain_asked_at timestamptz;
