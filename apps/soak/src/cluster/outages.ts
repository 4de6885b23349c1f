/** `kill` is SIGKILL, `stop` is SIGTERM, `pause` is SIGSTOP and later SIGCONT. */
type ProcessFault = 'kill' | 'stop' | 'pause';

/** Of a part whose data can be derived again. `empty`: it loses all of it. `restore`: it gets an old copy back. */
export type StoreFault = 'empty' | 'restore';

/** `fill`: its disk has no room for a while. What could not write then starts again. */
export type FaultKind = ProcessFault | StoreFault | 'fill';

/** Several parts may have the same role. */
export type PartRole = 'broker' | 'database' | 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';

/** Times are milliseconds since the epoch. */
export interface Outage {
  readonly part: string;
  readonly role: PartRole;
  readonly kind: FaultKind;
  readonly from: number;
  /** When the part was ready again; undefined if it never was. */
  readonly to: number | undefined;
  /** Why it was not ready again. */
  readonly failure?: string;
  /** The first `restore` only makes the copy. A disk that is filled may still have had room for all that was written. */
  readonly changedNothing?: boolean;
}

/** `clean`: exit status 0. `gave up`: another exit status. `killed`: ended by a signal. */
export type EndKind = 'clean' | 'gave up' | 'killed';

/** A stop by SIGTERM. */
export interface Stopped {
  readonly part: string;
  readonly role: PartRole;
  readonly at: number;
  readonly tookMs: number;
  /** In words, such as "ended with exit status 0". */
  readonly how: string;
  readonly endKind: EndKind;
}

/** A process that ended without a fault. */
export interface UnexpectedEnd {
  readonly part: string;
  readonly at: number;
  readonly how: string;
}

/** A fault that hit a part while it was down. */
export interface MissedFault {
  readonly part: string;
  readonly kind: FaultKind;
}

export interface FaultRecords {
  readonly missed: readonly MissedFault[];
  readonly outages: readonly Outage[];
  readonly stops: readonly Stopped[];
  readonly unexpectedEnds: readonly UnexpectedEnd[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

export interface OutageFilter extends Span {
  readonly roles: readonly PartRole[];
  /** A part counts as down until it has been back for this time. */
  readonly settleMs: number;
}

/** How many milliseconds of a time span one of these roles was down. */
export const outageMsIn = (
  outages: readonly Outage[],
  { roles, settleMs, from, to }: OutageFilter,
): number => {
  const spans = outages
    .filter(({ role }) => roles.includes(role))
    .map((outage) => ({
      from: Math.max(from, outage.from),
      to: Math.min(to, (outage.to ?? to) + settleMs),
    }))
    .filter((span) => span.to > span.from)
    .sort((one, other) => one.from - other.from);
  let sum = 0;
  let reached = from;
  for (const span of spans) {
    sum += Math.max(0, span.to - Math.max(span.from, reached));
    reached = Math.max(reached, span.to);
  }
  return sum;
};

/** Why something took too long: more than a time, slack for a busy machine, and all outages of these roles meanwhile. Undefined if it did not. */
export const whyTooSlow = (
  outages: readonly Outage[],
  filter: OutageFilter,
  atMostMs: number,
): string | undefined => {
  const outageMs = outageMsIn(outages, filter);
  const [tookMs, allowedMs] = [filter.to - filter.from, atMostMs + SLACK_MS + outageMs];
  if (tookMs <= allowedMs) return undefined;
  const [took, outage, allowed] = [tookMs, outageMs, allowedMs].map((ms) => (ms / 1_000).toFixed(1));
  return `took ${took} s with outages of ${outage} s. The limit was ${allowed} s.`;
};

const SLACK_MS = 30_000;

/** Services need this time to connect to the broker again, and to repeat their requests. */
const BROKER_SETTLES_MS = 10_000;

/** Whether a broker was away in this time, or had not been back for long. */
export const wasBrokerAway = (outages: readonly Outage[], span: Span): boolean =>
  outageMsIn(outages, { roles: ['broker'], settleMs: BROKER_SETTLES_MS, ...span }) > 0;
