import { isOrgId, isRunId, isUuid, type OrgId, type RunId } from '@runledger/contracts/ids';
import type { SliceSpan } from '@runledger/event-log/slices/slice-sources';
import { secondsOf, wholeNumberIn } from '../command/option-values.ts';
import { CommandError, plain } from '../command/command-error.ts';

export interface CaptureOptions {
  readonly from?: string;
  readonly to?: string;
  readonly warmUp: string;
  readonly rate: string;
  readonly organisation?: readonly string[];
  readonly deployment?: readonly string[];
  readonly run?: readonly string[];
}

/** What the options ask for, but of which content. */
export interface Capture {
  /** Null for all that the log holds of the runs. */
  readonly span: SliceSpan | null;
  readonly organisations: OrgId[];
  readonly deployments: string[];
  readonly runs: RunId[];
  /** Messages a second. */
  readonly rate: number;
}

/** A second of messages is one of a busy broker, which takes some thousand facts a second. */
export const DEFAULT_RATE = '25000';
export const DEFAULT_WARM_UP = '1h';
const MAX_RATE = 1_000_000;
/** Each run is read by itself; those of organisations and deployments in one pass. */
const MAX_RUNS = 100;
const MAX_NAMED = 1_000;

/** @throws {CommandError} */
export const captureOf = (options: CaptureOptions): Capture => {
  const runs = idsOf('--run', options.run, { is: isRunId, most: MAX_RUNS, found: 'queue prints it' });
  return {
    span: spanOf(options, runs.length > 0),
    organisations: idsOf('--organisation', options.organisation, {
      is: isOrgId,
      most: MAX_NAMED,
      found: 'runledger organisations list prints it',
    }),
    deployments: idsOf('--deployment', options.deployment, {
      is: (text): text is string => isUuid(text),
      most: MAX_NAMED,
      found: 'runledger deployments list --json prints it',
    }),
    runs,
    rate: wholeNumberIn('--rate', options.rate, { least: 1, most: MAX_RATE }),
  };
};

interface IdRule<Id> {
  readonly is: (text: string) => text is Id & string;
  readonly most: number;
  readonly found: string;
}

const idsOf = <Id extends string>(
  option: string,
  texts: readonly string[] = [],
  { is, most, found }: IdRule<Id>,
): Id[] => {
  const ids = [...new Set(texts.map((text) => text.toLowerCase()))];
  const valid = ids.filter(is);
  const invalid = ids.find((id) => !is(id));
  if (invalid !== undefined)
    throw new CommandError(`${option} ${plain(invalid)} is not an id, which is a UUID: ${found}.`);
  if (valid.length <= most) return valid;
  throw new CommandError(
    `${option} names ${valid.length} ids, and ${most} are the most. Capture them in parts.`,
  );
};

const spanOf = ({ from, to, warmUp }: CaptureOptions, hasRuns: boolean): SliceSpan | null => {
  if (from === undefined && to === undefined && hasRuns) return null;
  if (from === undefined || to === undefined)
    throw new CommandError(
      'A slice has a time: --from and --to. Only with --run both may be left out: then it is all that the log holds of the run.',
    );
  const [fromMs, toMs] = [timeOf('--from', from), timeOf('--to', to)];
  if (fromMs >= toMs) throw new CommandError(`--from ${plain(from)} must be before --to ${plain(to)}.`);
  const warmUpMs = (secondsOf('--warm-up', warmUp) ?? 0) * 1_000;
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    warm_up_from: new Date(Math.max(0, fromMs - warmUpMs)).toISOString(),
  };
};

/** Without a zone it would depend on the machine what a time means. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/;

const timeOf = (option: string, text: string): number => {
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new CommandError(
    `${option} ${plain(text)} is not a time with its zone, such as 2026-05-01T12:00:00Z or 2026-05-01T14:00+02:00.`,
  );
};
