-- The live memories of the current space, in the columns of a common memory table of other applications.
CREATE VIEW scrubjay.memory_items WITH (security_invoker = true) AS
  SELECT m.id::text AS id, to_timestamp(m.created_at / 1000000.0) AS created_at, s.name AS user_id,
    (SELECT v.vector::vector FROM scrubjay.passages p
       JOIN scrubjay.vectors v ON v.space_no = p.space_no AND v.hash = p.hash
       WHERE p.space_no = m.space_no AND p.id = m.no * 65536
         AND v.model_no IN (SELECT no FROM scrubjay.models) ORDER BY v.model_no DESC LIMIT 1) AS embedding,
    c.content AS text, c.metadata
  FROM scrubjay.memories m
  JOIN scrubjay.spaces s ON s.no = m.space_no
  JOIN scrubjay.contents c ON c.space_no = m.space_no AND c.memory_no = m.no
  WHERE m.state = 0 AND m.space_no = scrubjay.current_space();
