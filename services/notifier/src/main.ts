import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { streamsOf } from '@runledger/broker-access/service-permissions';
import { openBrokerTime } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { checkLifetimes } from '@runledger/event-log/provision/log-settings';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { respondAsInstance } from '@runledger/request-reply/instances';
import { runConfiguredService, type ServiceBase } from '@runledger/service-kit/configured-service';
import { mayConnect, resolveChecked } from '@runledger/webhooks/resolve-callback';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { policyFromConfig } from '@runledger/webhooks/policy-config';
import { outputUrls } from '@runledger/webhooks/output-urls';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import packageJson from '../package.json' with { type: 'json' };
import { configSchema, readNotifierConfig, type NotifierConfig, ownServices } from './config.ts';
import { contract } from './contract.ts';
import { breakerSettings } from './core/breaker.ts';
import { openNotifier } from './notifier.ts';
import { respondAboutReceivers } from './respond-about-receivers.ts';
import { openSender } from './sender.ts';

const start = async (
  begun: ServiceBase<NotifierConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<object> => {
  const { config, instance, logger, metrics, checks, health } = begun;
  const log = await openServiceLog({ ...begun, streams: streamsOf(contract) }, open, stopping);

  const giveUpAfterMs = config.RUNLEDGER_WEBHOOK_GIVE_UP_S * 1_000;
  const own = { webhookGiveUp: giveUpAfterMs };
  await retryWhileUnavailable({ signal: stopping, logger }, () =>
    checkLifetimes(log, own, streamsOf(contract)),
  );
  const policy = policyFromConfig(config, ownServices(config, health));
  const resolver = open.use(
    nameResolver({ servers: config.RUNLEDGER_DNS_SERVERS, clock: () => performance.now() }),
  );
  const proxy = config.RUNLEDGER_WEBHOOK_PROXY;
  const sender = open.use(
    openSender({
      resolve: resolveChecked({ policy, resolver }),
      mayConnect: (host, address, port) => mayConnect(policy, host, address, port),
      withinMs: config.RUNLEDGER_WEBHOOK_TRY_S * 1_000,
      ...(proxy === undefined ? {} : { proxy: new URL(proxy) }),
    }),
  );
  const askTime = () => openBrokerTime(log, 'TIMERS');
  const { now } = open.use(await retryWhileUnavailable({ signal: stopping, logger }, askTime));
  const secrets = signingSecrets(log, secretBox(config.RUNLEDGER_SECRET_KEYS), { now });
  const publicUrl = config.RUNLEDGER_PUBLIC_URL.replace(/\/+$/, '');
  const urls = outputUrls({
    publicUrl: () => publicUrl,
    keys: config.RUNLEDGER_SECRET_KEYS,
    ttlS: config.RUNLEDGER_OUTPUT_URL_TTL_S,
    now,
  });
  const notifier = open.use(
    openNotifier({
      log,
      metrics,
      sender,
      secrets,
      instance,
      now,
      publicUrl,
      outputUrl: urls.of,
      basePath: config.RUNLEDGER_BASE_PATH,
      maxBytes: config.RUNLEDGER_WEBHOOK_BODY_MAX_BYTES,
      giveUpAfterMs,
      maxInFlight: config.RUNLEDGER_WEBHOOK_IN_FLIGHT,
      reconcileEveryMs: config.RUNLEDGER_WEBHOOK_RECONCILE_EVERY_S * 1_000,
      finishWithinMs: config.RUNLEDGER_STOP_WITHIN_S * 400,
      breaker: breakerSettings(giveUpAfterMs),
    }),
  );
  checks['notifying'] = () => notifier.state();
  open.use(presence(begun, log, () => notifier.partitions()));
  open.use(respondAboutReceivers(log, notifier));
  return {};
};

/** Says on request that this process is there. */
const presence = (begun: ServiceBase<NotifierConfig>, log: EventLog, partitions: () => number): Disposable =>
  respondAsInstance(log, {
    ...begun,
    service: 'notifier',
    software_version: packageJson.version,
    doing: () => ({ partitions: partitions() }),
  });

await runConfiguredService(
  {
    name: 'notifier',
    configSchema,
    readConfig: readNotifierConfig,
    instance: () => `notifier-${randomBytes(6).toString('hex')}`,
    start,
  },
  process.env,
);
