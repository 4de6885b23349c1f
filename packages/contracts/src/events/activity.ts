import { Type, type Static } from 'typebox';
import { MAX_LIVE_STATUS } from '../limits.ts';

/** Progress of an attempt, as its executor reports it. The latest wins; it is not fenced, and expires. */
export const ProgressReport = Type.Object({
  /** 0 to 1, never going back within an attempt. */
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  live_status: Type.Union([Type.String({ maxLength: MAX_LIVE_STATUS }), Type.Null()]),
  time: Type.String({ format: 'date-time' }),
});
export type ProgressReport = Static<typeof ProgressReport>;
