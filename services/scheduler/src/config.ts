import { MAX_WEIGHT, MIN_WEIGHT } from '@runledger/contracts/run-options';
import { isOrgId } from '@runledger/contracts/ids';
import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { list, seconds } from '@runledger/service-kit/config-schemas';
import { serviceConfig } from '@runledger/service-kit/service-config';
import { Type, type Static } from 'typebox';
import type { ShareOf } from './core/runs/fair-queue.ts';

/** An organisation and a number, such as `ID:3`; undefined for any other text. */
const entryIn = (
  text: string,
  { others, digits, least, most }: NumberByOrg,
): readonly [org_id: string, number: number] | undefined => {
  const [org_id = '', written = '', ...more] = text.split(':');
  const number = digits.test(written) ? Number(written) : Number.NaN;
  const isNamed = isOrgId(org_id) || (others && org_id === OTHERS);
  return isNamed && number >= least && number <= most && more.length === 0 ? [org_id, number] : undefined;
};

const OTHERS = '*';

interface NumberByOrg {
  readonly what: string;
  /** Whether `*` stands for all others. */
  readonly others: boolean;
  readonly digits: RegExp;
  readonly least: number;
  readonly most: number;
}

const WEIGHT = {
  what: 'weight',
  others: false,
  digits: /^\d+(?:\.\d+)?$/,
  least: MIN_WEIGHT,
  most: MAX_WEIGHT,
} as const satisfies NumberByOrg;
const LIMIT = {
  what: 'number',
  others: true,
  digits: /^\d+$/,
  least: 1,
  most: 1_000_000,
} as const satisfies NumberByOrg;

const entry = (kind: NumberByOrg) =>
  Type.Refine(
    Type.String({ maxLength: 64 }),
    (text) => entryIn(text, kind) !== undefined,
    () =>
      `is not the id of an organisation${kind.others ? ` or ${OTHERS}` : ''}, a colon and a ${kind.what} from ${kind.least} to ${kind.most}, such as 2`,
  );

export const configSchema = Type.Object({
  ...brokerConfig,
  RUNLEDGER_HEARTBEAT_PERIOD_S: seconds({
    default: 6,
    minimum: 0.3,
    maximum: 3_600,
    description: 'an executor without a heartbeat for this time is lost; the same value as for the executors',
  }),
  RUNLEDGER_CANCEL_ENFORCE_S: seconds({
    default: 20,
    maximum: 86_400,
    description:
      'time from a cancel request, or from the end of run_timeout_s or, of a run that is assigned, start_deadline_s, until the run ends even if its executor does not end it; more than EXECUTOR_CANCEL_GRACE_S',
  }),
  RUNLEDGER_ORG_WEIGHTS: list(entry(WEIGHT), {
    default: [],
    maxItems: 10_000,
    description:
      'which organisations get more or fewer slots than others: ids, each with a colon and a weight, such as ID:3,ID:0.5; 1 for all others; the same value for all schedulers',
  }),
  RUNLEDGER_ORG_LIMITS: list(entry(LIMIT), {
    default: [],
    maxItems: 10_000,
    description:
      'how many slots organisations hold at most, on all GPU models together: ids, each with a colon and a number, such as ID:20, and *:5 for all others; no limit for those that are not named; the same value for all schedulers',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_S: seconds({
    default: 60,
    minimum: 0.1,
    maximum: 86_400,
    description: 'interval at which the state is saved, so that a start need not read the whole log',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_EVENTS: Type.Integer({
    default: 20_000,
    minimum: 1,
    description: 'the state is also saved after this number of events',
  }),
  ...serviceConfig({ healthPort: 9102 }),
});

export type SchedulerConfig = Static<typeof configSchema>;

export const readSchedulerConfig = (env: Environment): SchedulerConfig => readConfig(configSchema, env);

/** The last entry counts for an organisation that is named twice. */
export const shareOfIn = ({
  RUNLEDGER_ORG_WEIGHTS,
  RUNLEDGER_ORG_LIMITS,
}: Pick<SchedulerConfig, 'RUNLEDGER_ORG_WEIGHTS' | 'RUNLEDGER_ORG_LIMITS'>): ShareOf => {
  const weights = entriesOf(RUNLEDGER_ORG_WEIGHTS, WEIGHT);
  const limits = entriesOf(RUNLEDGER_ORG_LIMITS, LIMIT);
  return (org_id) => ({
    weight: weights.get(org_id) ?? 1,
    limit: limits.get(org_id) ?? limits.get(OTHERS) ?? Infinity,
  });
};

const entriesOf = (texts: readonly string[], kind: NumberByOrg): ReadonlyMap<string, number> =>
  new Map(texts.flatMap((text) => [entryIn(text, kind)].filter((one) => one !== undefined)));
