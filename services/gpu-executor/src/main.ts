import { newAttemptKeys, signAttempt } from '@runledger/contracts/access/attempt-token';
import { executorId, executorName, newUuid, type ExecutorId } from '@runledger/contracts/ids';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { appendFleet } from '@runledger/event-log/streams/fleet';
import { NewerVersion, ConsumerTakenOver } from '@runledger/event-log/consume/consume';
import { sendHeartbeat } from '@runledger/coordination/heartbeats';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { runConfiguredService, type ServiceBase } from '@runledger/service-kit/lifecycle/configured-service';
import packageJson from '../package.json' with { type: 'json' };
import { appendTo, lookIn } from './log/attempt-log.ts';
import { readExecutorConfig, type ExecutorConfig } from './config.ts';
import { consumeAddressed } from './log/consume-addressed.ts';
import { createExecutor } from './attempt/executor.ts';
import { executorMetrics } from './executor-metrics.ts';
import { fleetEvents } from './fleet/fleet-events.ts';
import { joinFleet } from './fleet/fleet-presence.ts';
import { newExecutorId } from './identity.ts';
import { readCapabilities } from './capabilities.ts';
import { probeContainment, processGroup } from './supervision/containment.ts';
import { programRunner } from './runner/program/program-runner.ts';
import { redriveAddressed } from './log/redrive-addressed.ts';
import { retire } from './retire.ts';
import { storeFiles } from './upload/store-files.ts';
import { openWorkFolder } from './work-folder.ts';

const now = (): Date => new Date();

const start = async (
  begun: ServiceBase<ExecutorConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<{ executor_id: string }> => {
  const { config, instance, logger, metrics, checks } = begun;
  const executor_id = executorId(instance);
  const { PATH = '/usr/local/bin:/usr/bin:/bin', HOME, LANG, CUDA_VISIBLE_DEVICES } = process.env;
  const visible = CUDA_VISIBLE_DEVICES === undefined ? {} : { CUDA_VISIBLE_DEVICES };
  const { slots, programs } = await readCapabilities({ ...config, PATH, ...visible }, logger);
  const work = await openWorkFolder(config.EXECUTOR_WORK_DIR, logger);
  const containment =
    config.EXECUTOR_PID_NAMESPACE === 'off'
      ? processGroup('EXECUTOR_PID_NAMESPACE is off')
      : await probeContainment();
  logger.info({ containment, slots, programs: [...programs.keys()] }, 'what this executor offers');

  checks['consumption'] = () => ({
    ok: false,
    why: 'the log is not open yet; where its streams are missing, runledger provision makes them',
  });
  // It may look at no stream, only at what is addressed to it.
  const log = await openServiceLog({ ...begun, streams: [] }, open, stopping);

  const keys = await newAttemptKeys();
  const cancelGraceMs = config.EXECUTOR_CANCEL_GRACE_S * 1_000;
  const abandon = new AbortController();
  const deaf = new AbortController();
  const executor = createExecutor({
    ledger: {
      append: appendTo(log),
      look: lookIn(log),
      newId: newUuid,
      now,
      closing: abandon.signal,
      deaf: deaf.signal,
      log: logger,
    },
    tools: {
      slots,
      workFolder: work.path,
      newId: newUuid,
      runner: programRunner({
        programs,
        containment,
        mark: work.mark,
        workFolder: work.path,
        cancelGraceMs,
        host: { PATH, HOME, LANG },
        log: logger,
      }),
      sendProgress: (run, report) =>
        reportProgress(log, run, run.attempt, executor_id, { ...report, time: now().toISOString() }),
      store: (assignment, files, stop) => {
        const gateway = new URL(config.RUNLEDGER_GATEWAY_URL);
        const sign = signAttempt(keys, assignment, assignment.attempt);
        return storeFiles({ gateway, signAttempt: () => sign, log: logger }, assignment, files, stop);
      },
    },
    log: logger,
    onOver: () => counts.attemptOver(),
  });
  const counts = executorMetrics(metrics, {
    slots: slots.length,
    busy: () => executor.busy().length,
    clock: () => performance.now(),
  });

  const consumption = open.use(await consumeAddressed(log, executor_id, executor, stopping));
  open.use(redriveAddressed(log, executor_id, executor));
  const registration = {
    executor_id,
    slots: slots.map(({ index, gpu }) => ({ slot: index, gpu })),
    machines: [...config.EXECUTOR_MACHINES],
    programs: [...programs.keys()],
    public_key: keys.publicKey,
    software_version: packageJson.version,
  };
  const periodMs = config.RUNLEDGER_HEARTBEAT_PERIOD_S * 1_000;
  const presence = await joinFleet(
    {
      fact: fleetEvents(registration, newUuid, now),
      tell: (event) => appendFleet(log, event),
      beat: async (said) => {
        await sendHeartbeat(log, { executor_id, runs: executor.busy(), ...said }, periodMs * 3);
        counts.beaten();
      },
      periodMs,
      log: logger,
    },
    stopping,
  );
  const stopWithinMs = config.RUNLEDGER_STOP_WITHIN_S * 1_000;
  open.defer(() => retire({ executor, presence, abandon, stopWithinMs, cancelGraceMs }));
  checks['consumption'] = () => consumption.state();
  checks['registered'] = () => {
    const why = presence.absence();
    return why === null ? { ok: true } : { ok: false, why };
  };
  // A fact that this release cannot read may be a cancel request: nothing new is begun, and what runs goes on. Without its
  // consumer for any other reason this executor is deaf: the process ends, and whoever started it starts another.
  void consumption.failed.then((error) => {
    deaf.abort();
    if (error instanceof NewerVersion) return presence.drain();
    if (error instanceof ConsumerTakenOver) logger.error({ executor_id }, takenOver(executor_id));
    throw error;
  });
  return { executor_id };
};

const takenOver = (id: ExecutorId): string =>
  `Another executor named ${executorName(id)} has taken over, and this one hears nothing any more. ` +
  'Give each executor an EXECUTOR_NAME of its own.';

await runConfiguredService(
  {
    name: 'gpu-executor',
    readConfig: readExecutorConfig,
    instance: ({ EXECUTOR_NAME }) => newExecutorId(EXECUTOR_NAME),
    start,
  },
  process.env,
);
