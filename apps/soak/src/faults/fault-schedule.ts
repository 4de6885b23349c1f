import type { Chance } from '../parameters/random.ts';
import type { Size } from '../parameters/size.ts';

/** `kill` is SIGKILL, `stop` is SIGTERM, `pause` is SIGSTOP and later SIGCONT. */
export type FaultKind = 'kill' | 'stop' | 'pause';

/** What is done to some processes at one moment. */
export interface Fault {
  /** Milliseconds from the beginning. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly parts: readonly string[];
  /** Until they are started again, or go on. */
  readonly forMs: number;
}

type Limits = Pick<Size, 'minutes' | 'gap' | 'away' | 'pause' | 'calm'>;

/** After a calm stretch in a hundred blows so many. */
const CALM_IN_100 = 8;
/** What was struck is left alone for a while after it is back, else nothing would ever be done. */
const SPARED_FOR_MS = 1_000;

/** Who is struck when, and how: the same for the same chance. A process is not struck while it is down. */
export const faultSchedule = (random: Chance, parts: readonly string[], limits: Limits): Fault[] => {
  const endsAt = limits.minutes * 60_000;
  const freeAt = new Map<string, number>();
  const blows: Fault[] = [];
  for (let at = random.integer(...limits.gap); at < endsAt; at += random.integer(...limits.gap)) {
    const kind = random.pick<FaultKind>(['kill', 'kill', 'stop', 'pause', 'pause']);
    const forMs = random.integer(...(kind === 'pause' ? limits.pause : limits.away));
    const free = parts.filter((part) => (freeAt.get(part) ?? 0) <= at);
    const struck = random.some(free, howMany(random, parts.length));
    if (struck.length > 0) blows.push({ at, kind, parts: struck, forMs });
    for (const part of struck) freeAt.set(part, at + forMs + SPARED_FOR_MS);
    if (random.happens(CALM_IN_100)) at += forMs + limits.calm;
  }
  return blows;
};

/** One as a rule, sometimes a few, and now and then everything at once. */
const howMany = (random: Chance, all: number): number => {
  if (random.happens(60)) return 1;
  return random.happens(88) ? random.integer(2, Math.max(2, Math.floor(all / 2))) : all;
};
