import { MAX_WEIGHT, MIN_WEIGHT } from '@runledger/contracts/fair-share';
import { isOrgId } from '@runledger/contracts/ids';
import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { readConfig, type Environment } from '@runledger/service-kit/config/config';
import { list, seconds } from '@runledger/service-kit/config/config-schemas';
import { serviceConfig } from '@runledger/service-kit/lifecycle/service-config';
import { Type, type Static } from 'typebox';
import type { Weights } from './core/runs/fair-queue.ts';

/** Undefined for what is no weight of an organisation. */
const weightIn = (text: string): readonly [org_id: string, weight: number] | undefined => {
  const [org_id = '', number = '', ...more] = text.split(':');
  const weight = /^\d+(?:\.\d+)?$/.test(number) ? Number(number) : Number.NaN;
  const isWeight = weight >= MIN_WEIGHT && weight <= MAX_WEIGHT;
  return isOrgId(org_id) && isWeight && more.length === 0 ? [org_id, weight] : undefined;
};

const OrgWeight = Type.Refine(
  Type.String({ maxLength: 64 }),
  (text) => weightIn(text) !== undefined,
  () =>
    `is not the id of an organisation, a colon and a weight from ${MIN_WEIGHT} to ${MAX_WEIGHT}, such as 2`,
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
      'time from a cancel request until the run counts as cancelled even if its executor does not end it; more than EXECUTOR_CANCEL_GRACE_S',
  }),
  RUNLEDGER_ORG_WEIGHTS: list(OrgWeight, {
    default: [],
    maxItems: 10_000,
    description:
      'which organisations get more or fewer slots than others: ids, each with a colon and a weight, such as ID:3,ID:0.5; 1 for all others; the same value for all schedulers',
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

/** The last one counts for an organisation that is named twice. */
export const weightsOf = ({
  RUNLEDGER_ORG_WEIGHTS: texts,
}: Pick<SchedulerConfig, 'RUNLEDGER_ORG_WEIGHTS'>): Weights =>
  new Map(texts.flatMap((text) => [weightIn(text)].filter((one) => one !== undefined)));
