import type { DeploymentName } from '../cluster/organisation.ts';
import { MISSING_GPU } from '../cluster/organisation.ts';
import type { Chance } from '../parameters/random.ts';
import type { Size } from '../parameters/size.ts';

/** What a client does about one run. Times are in milliseconds. */
export interface RunPlan {
  /** From 1; it stands in the run's inputs, so that the log tells which request a run came from. */
  readonly request: number;
  /** From the beginning. */
  readonly at: number;
  readonly deployment: DeploymentName;
  readonly gpu: string | null;
  readonly work: { readonly what: 'success' | 'failure' | 'file'; readonly seconds: string };
  readonly key: string | null;
  /** The first request is broken off after so long, and sent again. */
  readonly impatientAfter: number | null;
  readonly webhook: 'none' | 'final' | 'every state';
  readonly watch: 'looks' | 'waits' | 'streams';
  readonly cancelAfter: number | null;
  readonly rerun: boolean;
}

/** Everything that clients will ask for: the same for the same chance. */
export const plans = (random: Chance, { minutes, rate }: Pick<Size, 'minutes' | 'rate'>): RunPlan[] => {
  const count = Math.round(minutes * 60 * rate);
  const apart = 1_000 / rate;
  return Array.from({ length: count }, (_, at) => plan(random, at + 1, Math.round(at * apart)));
};

const plan = (random: Chance, request: number, at: number): RunPlan => {
  const kind = random.integer(1, 100);
  const key = random.happens(75) ? `soak-${request}` : null;
  return {
    request,
    at: at + random.integer(0, 500),
    ...workOf(random, kind),
    key,
    impatientAfter: key !== null && random.happens(15) ? random.integer(1, 40) : null,
    webhook: random.pick(['none', 'none', 'final', 'final', 'every state']),
    watch: random.pick(['looks', 'waits', 'streams']),
    cancelAfter: random.happens(20) ? random.pick([0, 0, random.integer(0, 6_000)]) : null,
    rerun: random.happens(4),
  };
};

const workOf = (random: Chance, kind: number): Pick<RunPlan, 'deployment' | 'gpu' | 'work'> => {
  const seconds = (from: number, to: number): string => (random.integer(from, to) / 1_000).toFixed(2);
  if (kind <= 4)
    return { deployment: 'hasty', gpu: null, work: { what: 'success', seconds: seconds(20_000, 60_000) } };
  if (kind <= 7)
    return { deployment: 'impatient', gpu: MISSING_GPU, work: { what: 'success', seconds: '0' } };
  const deployment = random.happens(12) ? 'swept' : 'plain';
  if (kind <= 17) return { deployment, gpu: null, work: { what: 'failure', seconds: seconds(0, 500) } };
  if (kind <= 27) return { deployment, gpu: null, work: { what: 'success', seconds: seconds(3_000, 6_000) } };
  if (kind <= 35) return { deployment, gpu: null, work: { what: 'file', seconds: seconds(0, 500) } };
  return { deployment, gpu: null, work: { what: 'success', seconds: seconds(0, 1_000) } };
};
