import { nullable } from '@runledger/contracts/schemas';
import { Type, type Static } from 'typebox';
import { plain, shorten } from '../command/command-error.ts';

const ErrorResponse = nullable(Type.Object({ kind: Type.String(), message: Type.String() }));

const FileResponse = Type.Object({ url: Type.String(), filename: Type.String() });

/** Texts and files by kind, and any values under `json`. */
const ShownData = Type.Unsafe<
  Record<string, (string | Static<typeof FileResponse>)[]> & { json?: unknown[] }
>(
  Type.Object(
    { json: Type.Optional(Type.Array(Type.Unknown())) },
    { additionalProperties: Type.Array(Type.Union([Type.String(), FileResponse])) },
  ),
);

/** The members of a run that commands show. `--json` prints all members of the answer. */
export const RunResponse = Type.Object({
  id: Type.String(),
  /** Left out by services that are not this one. */
  workflow_id: Type.Optional(Type.String()),
  workflow_version_id: Type.Optional(Type.String()),
  status: Type.String(),
  progress: Type.Number(),
  live_status: nullable(Type.String()),
  created_at: Type.String(),
  updated_at: Type.String(),
  started_at: nullable(Type.String()),
  ended_at: nullable(Type.String()),
  duration: nullable(Type.Number()),
  gpu: nullable(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
  finished: Type.Optional(Type.Boolean()),
  end_reason: Type.Optional(nullable(Type.String())),
  error: Type.Optional(ErrorResponse),
  warnings: Type.Optional(Type.Array(Type.Object({ message: Type.String() }))),
  attempts: Type.Optional(
    Type.Array(
      Type.Object({
        number: Type.Integer(),
        executor: Type.String(),
        placement: Type.Optional(nullable(Type.Object({ sentence: Type.String() }))),
        ended_at: nullable(Type.String()),
        error: ErrorResponse,
      }),
    ),
  ),
  outputs: Type.Array(
    Type.Object({
      data: ShownData,
    }),
  ),
});
export type RunResponse = Static<typeof RunResponse>;

export const RunListResponse = Type.Object({
  runs: Type.Array(RunResponse),
  unknown_runs: Type.Optional(Type.Array(Type.String())),
  next_cursor: nullable(Type.String()),
});

/** A run that was read with `?include=inputs`. */
export const RunInputs = Type.Object({ workflow_inputs: Type.Record(Type.String(), Type.Unknown()) });
export type RunInputs = Static<typeof RunInputs>;

const FINAL: ReadonlySet<string> = new Set(['success', 'failed', 'timeout', 'cancelled']);

export const hasEnded = (run: RunResponse): boolean => run.finished ?? FINAL.has(run.status);

/** Why a run failed or timed out, and the last lines that its program wrote. */
export const errorLines = ({ error }: RunResponse): string[] =>
  (error?.message ?? '').split('\n').flatMap((line) => plain(line) || []);

/** What is odd about a run that succeeded, one line each. */
export const warningLines = ({ warnings = [] }: RunResponse): string[] =>
  warnings.map(({ message }) => plain(message));

/** The attempts before the last one, one line each. */
export const earlierAttemptLines = ({ attempts = [] }: RunResponse): string[] =>
  attempts.slice(0, -1).map(({ number, executor, ended_at, error }) => {
    const why = plain(error?.message.split('\n')[0] ?? '');
    return `${number} on ${plain(executor)}, until ${ended_at}: ${why}`;
  });

/** Where the last attempt went, and why. */
export const placementLine = ({ attempts = [] }: RunResponse): string | null => {
  const { executor, placement } = attempts.at(-1) ?? {};
  return executor === undefined || !placement ? null : `on ${plain(executor)}, ${plain(placement.sentence)}`;
};

/** The files, texts and values of a run, one line each. */
export const outputLines = (run: RunResponse): string[] =>
  run.outputs.flatMap(({ data: { json = [], ...data } }) => [
    ...Object.entries(data).flatMap(([kind, items]) =>
      items.map((item) =>
        typeof item === 'string'
          ? `${plain(kind)}: ${plain(item)}`
          : `${plain(item.filename)}  ${plain(item.url)}`,
      ),
    ),
    ...json.map((value) => `json: ${plain(JSON.stringify(value))}`),
  ]);

const BAR = 30;

/** A run in one line: `[############..................]  40 %  running  row 200/500`. */
export const progressLine = (run: RunResponse, columns: number): string => {
  const fraction = Math.min(1, Math.max(0, run.progress));
  const full = Math.round(fraction * BAR);
  const percent = `${Math.floor(fraction * 100)} %`.padStart(5);
  const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`;
  // A line as wide as the terminal would wrap, and could not be replaced.
  return shorten(`${bar} ${percent}  ${statusWords(run)}`, columns - 1);
};

/** The same without a terminal: `running 40 % (row 200/500)`. */
export const progressSentence = (run: RunResponse): string => {
  const live = liveWords(run);
  return `${run.status} ${Math.floor(run.progress * 100)} %${live === '' ? '' : ` (${live})`}`;
};

export const endSentence = (run: RunResponse): string => {
  const took = run.duration === null ? '' : ` after ${run.duration.toFixed(1)} s`;
  const reason = run.end_reason ?? null;
  const why = reason === null || reason === 'completed' ? '' : ` (${reason})`;
  return `${run.status}${why}${took}`;
};

const statusWords = (run: RunResponse): string => `${run.status}  ${liveWords(run)}`.trimEnd();

/** Empty if the live status repeats the status. */
const liveWords = ({ status, live_status }: RunResponse): string => {
  const live = plain(live_status ?? '');
  return live === status ? '' : live;
};

const STEP = 0.1;

/** Without a terminal: a line for each tenth of the work. */
export const isWorthALine = (before: RunResponse | undefined, now: RunResponse): boolean =>
  before === undefined || before.status !== now.status || now.progress - before.progress >= STEP;
