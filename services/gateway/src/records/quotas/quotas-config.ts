import type { ConfigProblem } from '@runledger/service-kit/config';
import { Type } from 'typebox';

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

const quota = (preset: number, maximum: number, description: string): Type.TInteger =>
  Type.Integer({ minimum: 1, maximum, default: preset, description: `the most ${description}` });

/**
 * The environment variables of quotas: to spread into the configuration schema. By default an organisation may use a quarter
 * of each store, so that several fit.
 */
export const quotasConfig = {
  RUNLEDGER_QUEUE_MAX: quota(100_000, 10_000_000, 'queued runs of an organisation'),
  // A bucket lists at most 10,000 records, and several gateways may create some at the same moment.
  RUNLEDGER_QUOTA_CATALOGUE_RECORDS: quota(
    5_000,
    9_000,
    'machines, workflows, versions of workflows and deployments of an organisation, archived ones included',
  ),
  RUNLEDGER_QUOTA_SCHEDULES: quota(100, 1_000, 'schedules of an organisation, paused ones included'),
  RUNLEDGER_QUOTA_SECRETS: quota(100, 1_000, 'secrets of an organisation'),
  RUNLEDGER_QUOTA_WORKFLOW_BYTES: quota(
    128 * MiB,
    TiB,
    'bytes of all workflows of an organisation, with the definitions of their inputs and the code of versions',
  ),
  RUNLEDGER_QUOTA_BLOB_BYTES: quota(
    512 * MiB,
    TiB,
    'bytes of all inputs and lists of outputs over 4 KiB, and of all logs, of an organisation, equal ones once',
  ),
  RUNLEDGER_QUOTA_OUTPUT_BYTES: quota(
    GiB,
    1024 * TiB,
    'bytes of all output files of an organisation; where it is not set, at least RUNLEDGER_OUTPUT_RUN_MAX_BYTES',
  ),
  RUNLEDGER_QUOTA_FILES: quota(5_000, 9_000, 'files and uploads of an organisation'),
  RUNLEDGER_QUOTA_FILE_BYTES: quota(
    512 * MiB,
    1024 * TiB,
    'bytes of all files of an organisation, equal ones once, with those that are being uploaded; where it is not set, at least RUNLEDGER_FILE_MAX_BYTES',
  ),
  RUNLEDGER_KEPT_SLOTS_MAX: quota(
    64,
    100_000,
    'slots that the deployments of an organisation have kept ready (keep_prepared, keep_loaded)',
  ),
  RUNLEDGER_QUOTA_MODEL_BYTES: quota(
    GiB,
    1024 * TiB,
    'bytes of all models that an organisation keeps for its versions, equal ones once',
  ),
  RUNLEDGER_QUOTA_UPLOADS: quota(
    100,
    100_000,
    'files that clients and executors upload for an organisation to this gateway at once',
  ),
  RUNLEDGER_QUOTA_STREAMS: quota(
    2_500,
    1_000_000,
    'event streams and waiting reads that an organisation has open at this gateway at once',
  ),
  RUNLEDGER_KEY_STREAMS_MAX: quota(
    1_250,
    1_000_000,
    'event streams and waiting reads that an API key has open with the keys derived from it at this gateway at once; their tokens have as many',
  ),
};

/** What one run or file may use, and all of an organisation together. */
const LIMITS = [
  ['RUNLEDGER_OUTPUT_RUN_MAX_BYTES', 'RUNLEDGER_QUOTA_OUTPUT_BYTES', 'output files'],
  ['RUNLEDGER_FILE_MAX_BYTES', 'RUNLEDGER_QUOTA_FILE_BYTES', 'files'],
] as const;

type Limits = Readonly<Record<(typeof LIMITS)[number][0 | 1], number>>;
type IsSet = (variable: keyof Limits) => boolean;

/** The limits, of which one that is not set follows the other one. */
export const followingLimits = (config: Limits, isSet: IsSet): Limits => {
  const limits: Record<keyof Limits, number> = { ...config };
  for (const [one, all] of LIMITS) {
    if (config[one] <= config[all]) continue;
    if (isSet(one)) limits[all] = config[one];
    else limits[one] = config[all];
  }
  return limits;
};

/** When one run or file may use more than its organisation, and both are set. */
export const quotaProblems = (config: Partial<Limits>, isSet: IsSet): ConfigProblem[] =>
  LIMITS.flatMap(([one, all, what]) => {
    const { [one]: bytes, [all]: quota } = config;
    if (bytes === undefined || quota === undefined || bytes <= quota || !isSet(one) || !isSet(all)) return [];
    return [
      {
        variable: one,
        wrong: `is ${bytes}, more than all ${what} of an organisation may have`,
        right: `at most ${all} (${quota}), or not set: then it follows`,
      },
    ];
  });
