import { Type, type Static } from 'typebox';
import type { RunKey } from './events/subjects.ts';
import { isExecutorId, isOrgId, isRunId, type ExecutorId, type OrgId } from './ids.ts';

/** Where a line of a run's log comes from: the workflow's two output streams, or what executes it. */
const LOG_STREAMS = ['stdout', 'stderr', 'runner'] as const;
export type LogStream = (typeof LOG_STREAMS)[number];

/** Bytes of a line in UTF-8; the rest of a longer one is cut off. */
export const MAX_LOG_LINE_BYTES = 4 * 1024;
/** What a line counts as, beside its text. */
export const LOG_LINE_OVERHEAD = 32;
/** What the lines of a chunk count as. */
export const MAX_LOG_CHUNK_BYTES = 8 * 1024;
/** The first chunks of an attempt's log are kept, and the last ones: 1 MiB in all. */
export const LOG_HEAD_CHUNKS = 64;
export const LOG_TAIL_CHUNKS = 64;

/** When it was read, in milliseconds since 1970; where it comes from; its text; whether its end was cut off. */
export const StoredLogLine = Type.Tuple([
  Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }),
  Type.Enum(LOG_STREAMS),
  Type.String({ maxLength: MAX_LOG_LINE_BYTES }),
  Type.Boolean(),
]);
export type StoredLogLine = Static<typeof StoredLogLine>;

/** Successive lines of an attempt's log. The numbers show what is missing between two chunks. */
export const LogChunk = Type.Object({
  /** The number of its first line, from 0. */
  first: Type.Integer({ minimum: 0 }),
  /** Bytes that the attempt wrote before it, with line ends. */
  before: Type.Integer({ minimum: 0 }),
  /** Bytes of these lines as they were written. */
  bytes: Type.Integer({ minimum: 0 }),
  lines: Type.Array(StoredLogLine, { minItems: 1, maxItems: MAX_LOG_CHUNK_BYTES / LOG_LINE_OVERHEAD }),
});
export type LogChunk = Static<typeof LogChunk>;

/**
 * Where the chunk with this number is stored: the first ones have a place of their own, and the others share the rest in turn. So
 * the broker keeps no more of an attempt than it may have, however much is written.
 */
export const logSlot = (chunk: number): number =>
  chunk < LOG_HEAD_CHUNKS ? chunk : LOG_HEAD_CHUNKS + ((chunk - LOG_HEAD_CHUNKS) % LOG_TAIL_CHUNKS);

export interface LoggedAttempt extends RunKey {
  readonly attempt: number;
  readonly executor_id: ExecutorId;
}

export const logSubject = (of: LoggedAttempt, slot: number): string => `${prefixOf(of)}.${slot}`;

/** All that is stored of an attempt's log. */
export const logFilter = (of: LoggedAttempt): string => `${prefixOf(of)}.*`;

/** The logs of all attempts of a run, also of attempts that it never had: whoever reads compares the executor. */
export const runLogsFilter = ({ org_id, run_id }: RunKey): string => `logs.${org_id}.${run_id}.*.*.*.*`;

export const orgLogsFilter = (org_id: OrgId): string => `logs.${org_id}.*.*.*.*.*`;

export const ALL_LOGS = 'logs.*.*.*.*.*.*';

const prefixOf = ({ org_id, run_id, attempt, executor_id }: LoggedAttempt): string =>
  `logs.${org_id}.${run_id}.${attempt}.${executor_id}`;

/** Undefined when the subject is not one of an attempt's log. */
export const parseLogSubject = (subject: string): LoggedAttempt | undefined => {
  const [logs, org_id = '', run_id = '', attempt = '', ...rest] = subject.split('.');
  const executor_id = rest.slice(0, -1).join('.');
  if (logs !== 'logs' || !isOrgId(org_id) || !isRunId(run_id) || !/^\d{1,6}$/.test(attempt)) return undefined;
  return isExecutorId(executor_id) ? { org_id, run_id, attempt: Number(attempt), executor_id } : undefined;
};

/** The log of one attempt. */
export const AttemptLog = Type.Object({
  chunks: Type.Array(LogChunk, { maxItems: LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS }),
  /** What the attempt wrote in all. */
  lines: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
});
export type AttemptLog = Static<typeof AttemptLog>;

/** The logs of a run's attempts as they are kept with it: compressed JSON, as a blob. */
export const RetainedLogs = Type.Object({
  attempts: Type.Array(Type.Object({ attempt: Type.Integer({ minimum: 1 }), ...AttemptLog.properties }), {
    maxItems: 100,
  }),
});
export type RetainedLogs = Static<typeof RetainedLogs>;

/** Of the JSON before it is compressed. Characters that JSON escapes may take twice their room. */
export const MAX_LOG_JSON_BYTES = 3 * (LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS) * MAX_LOG_CHUNK_BYTES;

/**
 * The beginning and the end of all these logs together, as many chunks as one attempt may have. What is left out of an attempt shows
 * in the numbers of what remains.
 */
export const boundedLogs = (
  { attempts }: RetainedLogs,
  head: number = LOG_HEAD_CHUNKS,
  tail: number = LOG_TAIL_CHUNKS,
): RetainedLogs => {
  const all = attempts.reduce((sum, { chunks }) => sum + chunks.length, 0);
  let number = 0;
  const isKept = (): boolean => {
    number += 1;
    return number <= head || number > all - tail;
  };
  return { attempts: attempts.map((log) => ({ ...log, chunks: log.chunks.filter(isKept) })) };
};

const MAX_MASKS = 20;
const MAX_PATTERN_LENGTH = 256;

/** Patterns in the syntax of RE2, whose matching takes linear time, also of a pattern that somebody chose to be slow. */
export const LogMasks = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: MAX_PATTERN_LENGTH,
    description: 'A regular expression in the syntax of RE2.',
    examples: ['sk-[A-Za-z0-9]{20,}'],
  }),
  {
    minItems: 1,
    maxItems: MAX_MASKS,
  },
);
export type LogMasks = Static<typeof LogMasks>;
