import { newUuid } from '@runledger/contracts/ids';
import { streamsOf } from '@runledger/broker-access/service-permissions';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { respondAsInstance } from '@runledger/request-reply/instances';
import { runConfiguredService, type ServiceBase } from '@runledger/service-kit/configured-service';
import packageJson from '../package.json' with { type: 'json' };
import { configSchema, readSchedulerConfig, shareOfIn, type SchedulerConfig } from './config.ts';
import { contract } from './contract.ts';
import { openScheduler } from './scheduler.ts';

const start = async (
  begun: ServiceBase<SchedulerConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<object> => {
  const { config, instance, metrics, checks } = begun;
  const log = await openServiceLog({ ...begun, streams: streamsOf(contract) }, open, stopping);

  const settings = {
    instance,
    heartbeatPeriodMs: config.RUNLEDGER_HEARTBEAT_PERIOD_S * 1_000,
    cancelEnforceMs: config.RUNLEDGER_CANCEL_ENFORCE_S * 1_000,
    shareOf: shareOfIn(config),
    snapshotEveryMs: config.RUNLEDGER_SNAPSHOT_EVERY_S * 1_000,
    snapshotEveryEvents: config.RUNLEDGER_SNAPSHOT_EVERY_EVENTS,
  };
  const scheduler = open.use(await openScheduler(log, settings, metrics, stopping));
  checks['following'] = () => scheduler.following();
  open.use(
    respondAsInstance(log, {
      ...begun,
      service: 'scheduler',
      software_version: packageJson.version,
      doing: () => ({ leads: scheduler.leading(), term: scheduler.term() ?? null }),
    }),
  );
  return {};
};

await runConfiguredService(
  {
    name: 'scheduler',
    configSchema,
    readConfig: readSchedulerConfig,
    instance: () => `scheduler-${newUuid().slice(-8)}`,
    start,
  },
  process.env,
);
