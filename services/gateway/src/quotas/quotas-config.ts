import { Type } from 'typebox';

const quota = (preset: number, maximum: number, description: string): Type.TInteger =>
  Type.Integer({ minimum: 1, maximum, default: preset, description: `the most ${description}` });

/** The environment variables of quotas: to spread into the configuration schema. */
export const quotasConfig = {
  RUNLEDGER_QUEUE_MAX: quota(100_000, 10_000_000, 'queued runs of an organisation'),
  // A bucket lists at most 10,000 records, and several gateways may create some at the same moment.
  RUNLEDGER_QUOTA_CATALOGUE_RECORDS: quota(
    5_000,
    9_000,
    'machines, workflows, versions of workflows and deployments of an organisation, archived ones included',
  ),
  RUNLEDGER_QUOTA_STREAMS: quota(
    2_500,
    1_000_000,
    'event streams and waiting reads that an organisation has open at this gateway at once',
  ),
};
