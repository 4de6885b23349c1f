import { isOrgId, type OrgId } from '@runledger/contracts/ids';
import { secondsOf, wholeNumberIn } from '../../options/numbers.ts';
import { CommandError } from '../../output/command-error.ts';
import { plain } from '../../output/plain-text.ts';

export interface CaptureOptions {
  readonly from: string;
  readonly to: string;
  readonly leadIn: string;
  readonly rate: string;
  readonly organisation?: string;
  readonly output?: string;
}

/** What the options ask for. Times are ISO 8601 in UTC with milliseconds, as the log has them. */
export interface Capture {
  readonly from: string;
  readonly to: string;
  readonly lead_in_from: string;
  readonly organisation: OrgId | null;
  /** Messages a second. */
  readonly rate: number;
}

/** A second of messages is one of a busy broker, which takes some thousand facts a second. */
export const DEFAULT_RATE = '25000';
export const DEFAULT_LEAD_IN = '1h';
const MAX_RATE = 1_000_000;

/** @throws {CommandError} */
export const captureOf = ({ from, to, leadIn, rate, organisation }: CaptureOptions): Capture => {
  const [fromMs, toMs] = [timeOf('--from', from), timeOf('--to', to)];
  if (fromMs >= toMs) throw new CommandError(`--from ${plain(from)} must be before --to ${plain(to)}.`);
  const leadInMs = (secondsOf('--lead-in', leadIn) ?? 0) * 1_000;
  if (organisation !== undefined && !isOrgId(organisation))
    throw new CommandError(
      `--organisation ${plain(organisation)} is not the id of an organisation: runledger organisations list prints them.`,
    );
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    lead_in_from: new Date(Math.max(0, fromMs - leadInMs)).toISOString(),
    organisation: organisation ?? null,
    rate: wholeNumberIn('--rate', rate, { least: 1, most: MAX_RATE }),
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
