import { Type, type Static } from 'typebox';

/** Every gateway with an archive answers it: whether a segment still says what was written. */
export const ARCHIVE_CHECK_SUBJECT = 'request.gateway.archive_check';

const Position = Type.Integer({ minimum: 0 });

export const ArchiveCheckRequest = Type.Object({
  /** The `revision` of the response before; 0 for the first one. */
  behind: Position,
  /** Compare each message with the log, as long as the log has it. */
  compare: Type.Boolean(),
});
export type ArchiveCheckRequest = Static<typeof ArchiveCheckRequest>;

export const CheckedSegment = Type.Object({
  /** Of its record: the next request goes on behind it. */
  revision: Position,
  org_id: Type.String({ format: 'uuid' }),
  first_sequence: Position,
  last_sequence: Position,
  messages: Position,
  /** Of these, those that were compared with the log. */
  compared: Position,
  root: Type.String(),
  /** What is wrong with it, in words. */
  problems: Type.Array(Type.String(), { maxItems: 100 }),
});
export type CheckedSegment = Static<typeof CheckedSegment>;

/** Null behind the last one. */
export const ArchiveCheckResponse = Type.Object({ segment: Type.Union([CheckedSegment, Type.Null()]) });
export type ArchiveCheckResponse = Static<typeof ArchiveCheckResponse>;
