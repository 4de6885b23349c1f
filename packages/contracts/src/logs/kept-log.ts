import { Type, type Static } from 'typebox';
import { LOG_HEAD_CHUNKS, LOG_TAIL_CHUNKS, LogChunk, MAX_LOG_CHUNK_BYTES } from './log-chunk.ts';

/** The log of one attempt. */
export const AttemptLog = Type.Object({
  chunks: Type.Array(LogChunk, { maxItems: LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS }),
  /** What the attempt wrote in all. */
  lines: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
});
export type AttemptLog = Static<typeof AttemptLog>;

/** The logs of a run's attempts as they are kept with it: compressed JSON, as a blob. */
export const KeptLogs = Type.Object({
  attempts: Type.Array(Type.Object({ attempt: Type.Integer({ minimum: 1 }), ...AttemptLog.properties }), {
    maxItems: 100,
  }),
});
export type KeptLogs = Static<typeof KeptLogs>;

/** Of the JSON before it is compressed. Characters that JSON escapes may take twice their room. */
export const MAX_LOG_JSON_BYTES = 3 * (LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS) * MAX_LOG_CHUNK_BYTES;

/**
 * The beginning and the end of all these logs together, as many chunks as one attempt may have. What is left out of an attempt shows
 * in the numbers of what remains.
 */
export const boundedLogs = (
  { attempts }: KeptLogs,
  head: number = LOG_HEAD_CHUNKS,
  tail: number = LOG_TAIL_CHUNKS,
): KeptLogs => {
  const all = attempts.reduce((sum, { chunks }) => sum + chunks.length, 0);
  let number = 0;
  const isKept = (): boolean => {
    number += 1;
    return number <= head || number > all - tail;
  };
  return { attempts: attempts.map((log) => ({ ...log, chunks: log.chunks.filter(isKept) })) };
};
