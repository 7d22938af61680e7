-- name: lease
-- Grants at most an eighth of what is left, rounded up. A window that begins in the future is from a clock that has been
-- set back since. The values are: caller, requested, limit, limit, requested.
INSERT INTO scrubjay.rate_limits AS a (caller, window_start, used, granted)
  SELECT %s, clock_timestamp(), first.amount, first.amount
    FROM (SELECT least(%s::bigint, (%s::bigint + 7) / 8) AS amount) first
  ON CONFLICT (caller) DO UPDATE SET (window_start, used, granted) = (
    SELECT so_far.window_start, so_far.used + lease.amount, lease.amount
      FROM (SELECT clock_timestamp() AS moment) now,
        LATERAL (SELECT abs(extract(epoch FROM now.moment - a.window_start)) < 60 AS is_open) minute,
        LATERAL (SELECT CASE WHEN minute.is_open THEN a.window_start ELSE now.moment END AS window_start,
          CASE WHEN minute.is_open THEN a.used ELSE 0 END AS used) so_far,
        LATERAL (SELECT greatest(%s::bigint - so_far.used + 7, 0) / 8 AS amount) part,
        LATERAL (SELECT least(%s::bigint, part.amount) AS amount) lease)
  RETURNING granted, greatest(0, extract(epoch FROM window_start + interval '1 minute' - clock_timestamp()));

-- name: delete_idle
DELETE FROM scrubjay.rate_limits WHERE abs(extract(epoch FROM clock_timestamp() - window_start)) > 600;
