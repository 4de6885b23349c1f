import { mkdir, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { findUv, uvToDownload } from '@runledger/local-servers/find-uv';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { logSettings, parseLogSettings, type LogSettings } from '@runledger/event-log/provision/log-settings';
import { provision } from '@runledger/event-log/provision/provision';
import {
  newOwnerLink,
  signInPage,
  type NewSignInLink,
} from '@runledger/gateway/records/people/sign-in-links';
import { banner } from './banner.ts';
import {
  CONNECTION_FILE,
  DATA_FOLDER,
  type Connection,
  type Operator,
} from './data-folder/connection-files.ts';
import { openDataFolder, type DataFolder } from './data-folder/data-folder.ts';
import { endLeftoverProcesses } from './data-folder/leftovers.ts';
import { openSecretKeys } from './keys.ts';
import { writePrivateFile } from './data-folder/write-file.ts';
import { choosePort, originOf } from './components/api-address.ts';
import { startBroker } from './components/broker.ts';
import { startDatabase } from './components/database.ts';
import { executorsOf } from './components/executors.ts';
import { chooseSlots, type Slots } from './components/gpu-slots.ts';
import { startServices } from './components/services.ts';
import { awaitWholeLog } from './components/await-whole-log.ts';
import { openFirstOrganisation, type FirstOrganisation } from './records/first-organisation.ts';
import { followWebhookSecret, webhookSecretOf } from './records/webhook-secret.ts';
import { checkSettings } from './check-settings.ts';
import { isLoopback, type Settings, StartRefused, webhookAllowOf } from './settings.ts';

/** Nobody has it elsewhere: the owner of a standalone is whoever reads what it prints. */
const OWNER_EMAIL = 'owner@standalone.local';

/** Opens everything into `open`: started in this order, stopped in reverse. Resolves when clients can queue runs. */
export const start = async (
  open: AsyncDisposableStack,
  env: NodeJS.ProcessEnv,
  stopping: AbortSignal,
  print: (line: string) => void,
): Promise<void> => {
  const settings = await checkSettings(env);
  const host = settings.RUNLEDGER_HOST;
  const folder = await holdFolder(open, resolve(settings.RUNLEDGER_DATA_DIR));
  const port = await portOf(host, settings);

  const secretKeys = await openSecretKeys(folder, settings.RUNLEDGER_SECRET_KEYS);
  const syncInterval = settings.RUNLEDGER_SYNC_INTERVAL;
  const workFolder = settings.EXECUTOR_WORK_DIR ?? folder.at('work');
  const executors = executorsOf(settings.EXECUTOR_NAME, settings.RUNLEDGER_EXECUTORS, workFolder);
  const names = executors.map(({ name }) => name);
  const broker = await startBroker(open, folder, env, { syncInterval, executors: names }, print);
  stopping.throwIfAborted();
  const slots = await chooseSlots(settings.EXECUTOR_GPUS, executors.length);
  print('Setting up the log and the sample.');
  const first = await prepareLog(folder, broker.operator, { settings, slots, secretKeys });
  stopping.throwIfAborted();
  const views = await startDatabase(open, folder, { env, given: settings.MONGODB_URL, print, stopping });
  await untilLogIsWhole(broker.operator, { views, print, stopping });
  print('Starting gateway, scheduler, gpu-executor and notifier.');
  const webhookAllow = webhookAllowOf(settings.RUNLEDGER_WEBHOOK_ALLOW, host);
  const moreOwnServices = settings.RUNLEDGER_WEBHOOK_OWN_SERVICES;
  const { RUNLEDGER_PUBLIC_URL: publicUrl, RUNLEDGER_RATE_LIMIT: rateLimit } = settings;
  const webhooks = { secretKeys, webhookAllow: webhookAllow.entries, moreOwnServices, publicUrl };
  const code = settings.EXECUTOR_CODE ?? (isLoopback(host) ? 'all' : 'none');
  const uv = settings.EXECUTOR_UV ?? (code === 'none' ? undefined : await uvToDownload(env));
  const parts = {
    folder,
    env,
    broker,
    executors,
    views,
    slots,
    host,
    port,
    programs: settings.EXECUTOR_PROGRAMS,
    code: { EXECUTOR_CODE: code, ...(uv === undefined ? {} : { EXECUTOR_UV: uv }) },
    stopWithinS: settings.RUNLEDGER_STOP_WITHIN_S,
    healthToken: settings.RUNLEDGER_HEALTH_TOKEN,
    ...webhooks,
    rateLimit,
    sample: first,
    // One organisation is usual here, and may use the whole store.
    outputBytes: logSettings(readLogSettings(settings)).outputsMaxBytes,
    modelBytes: logSettings(readLogSettings(settings)).modelsMaxBytes,
    print,
  };
  const metrics = await startServices(open, parts, stopping);
  // The start does not wait for it, nor fail without it: a run that needs it says so.
  if (uv !== undefined && uv !== settings.EXECUTOR_UV) void findUv(env).catch(() => undefined);

  const origin = originOf(host, port);
  const url = `${origin}${settings.RUNLEDGER_BASE_PATH}`;
  await folder.publishUrl(url);
  const { api_key, deployment_id, webhook_secret, org_id } = first;
  const connection = { url, api_key, deployment_id, webhook_secret };
  await publishConnection(open, folder, connection);
  await keepSecret(open, folder, { connection, org_id, secretKeys, operator: broker.operator, print });
  const facts = { url, apiKey: api_key, deploymentId: deployment_id, slots: slots.description, views };
  const where = { dataFolder: folder.path, isUsualFolder: folder.path === resolve(DATA_FOLDER) };
  const isConsoleOn = settings.RUNLEDGER_CONSOLE !== 'off';
  const signIn = isConsoleOn ? signInPage((publicUrl ?? origin).replace(/\/$/, ''), first.link) : undefined;
  print(banner({ ...facts, ...where, signIn, syncInterval, metrics, webhookAllow }));
};

const portOf = async (host: string, settings: Settings): Promise<number> => {
  const chosen = await choosePort(host, settings.RUNLEDGER_PORT);
  if (!chosen.ok) throw new StartRefused(chosen.why);
  return chosen.port;
};

const holdFolder = async (open: AsyncDisposableStack, path: string): Promise<DataFolder> => {
  const opened = await openDataFolder(path, () => new Date());
  if (!opened.ok) throw new StartRefused(opened.why);
  const folder = open.use(opened.folder);
  await endLeftoverProcesses(folder);
  await mkdir(folder.at('logs'), { recursive: true, mode: 0o700 });
  // A killed standalone left it. Nothing listens at its address.
  await rm(folder.at(CONNECTION_FILE), { force: true });
  return folder;
};

const readLogSettings = ({ RUNLEDGER_LOG_SETTINGS: json }: Settings): Partial<LogSettings> =>
  parseLogSettings(json);

const prepareLog = async (
  folder: DataFolder,
  { nats_url: url, nats_nkey: seed }: Operator,
  {
    settings,
    slots,
    secretKeys,
  }: { readonly settings: Settings; readonly slots: Slots; readonly secretKeys: readonly string[] },
): Promise<FirstOrganisation & Pick<Connection, 'webhook_secret'> & { readonly link: NewSignInLink }> => {
  await using log = await openEventLog({ url, seed, name: 'standalone' }, silentLogger);
  await provision(log, readLogSettings(settings));
  const now = (): Date => new Date();
  const apiKey = settings.RUNLEDGER_API_KEY;
  const first = await openFirstOrganisation(folder, log, { apiKey, gpu: slots.model, now });
  const owner = { email: OWNER_EMAIL, owner_of: first.org_id };
  return {
    ...first,
    webhook_secret: await webhookSecretOf(log, first.org_id, secretKeys, now),
    link: await newOwnerLink(log, owner),
  };
};

const untilLogIsWhole = async (
  { nats_url: url, nats_nkey: seed }: Operator,
  options: Parameters<typeof awaitWholeLog>[1],
): Promise<void> => {
  options.stopping.throwIfAborted();
  await using log = await openEventLog({ url, seed, name: 'standalone' }, silentLogger);
  await awaitWholeLog(log, options);
};

interface KeptSecret {
  readonly connection: Connection;
  readonly org_id: string;
  readonly secretKeys: readonly string[];
  readonly operator: Operator;
  readonly print: (line: string) => void;
}

/** After a rotation the connection has the new signing secret. */
const keepSecret = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  { connection, org_id, secretKeys, operator, print }: KeptSecret,
): Promise<void> => {
  const { nats_url: url, nats_nkey: seed } = operator;
  const log = open.use(await openEventLog({ url, seed, name: 'standalone' }, silentLogger));
  let written = connection.webhook_secret;
  const onSecret = async (webhook_secret: string): Promise<void> => {
    if (webhook_secret === written) return;
    written = webhook_secret;
    await writeConnection(folder, { ...connection, webhook_secret });
  };
  const onFailed = ({ message }: Error): void =>
    print(`${CONNECTION_FILE} does not follow the webhook secret any more: ${message}`);
  const now = (): Date => new Date();
  open.use(await followWebhookSecret(log, { org_id, secretKeys, now, onSecret, onFailed }));
};

const writeConnection = (folder: DataFolder, connection: Connection): Promise<void> =>
  writePrivateFile(folder.at(CONNECTION_FILE), `${JSON.stringify(connection)}\n`);

/** Clients find the connection from now on, until the stop begins. */
const publishConnection = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  connection: Connection,
): Promise<void> => {
  await writeConnection(folder, connection);
  open.defer(() => rm(folder.at(CONNECTION_FILE), { force: true }));
};
