/** `always` flushes each message before it is acknowledged; a time flushes all messages at that interval. */
export type SyncInterval = 'always' | `${number}${'ms' | 's' | 'm'}`;

export interface NatsServerSettings {
  readonly storeDir: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Serves `/healthz`, `/varz` and more, on the loopback address and without a password. No monitoring by default. */
  readonly monitorPort?: number;
  readonly serverName: string;
  /** When stored messages are flushed to disk. */
  readonly syncInterval: SyncInterval;
  readonly logFile?: string;
  readonly cluster?: NatsClusterSettings;
  /** A part of nats-server's configuration, copied unchanged: `authorization {…}` or `accounts {…}`. */
  readonly authorization?: string;
}

/** Servers on the loopback address that form a cluster. Each has a name of its own. */
export interface NatsClusterSettings {
  readonly name: string;
  /** Where this server listens for the others. */
  readonly port: number;
  /** Of every server, this one included. */
  readonly ports: readonly number[];
}

const LOOPBACK = '127.0.0.1';
/**
 * Far above any disk: the limits of the streams bound the store, and nats-server reserves them when they are made. Its own bound, three
 * quarters of the free space, would refuse limits of which little is used.
 */
const FILE_STORE_BYTES = 2 ** 50;
const LOG_FILE_BYTES = 16 * 1024 * 1024;

/** The settings in nats-server's own configuration language. */
export const natsServerConfig = (settings: NatsServerSettings): string => {
  const top = {
    server_name: settings.serverName,
    host: LOOPBACK,
    // nats-server reads 0 as its default port, and -1 as a free port.
    port: settings.port === 0 ? -1 : settings.port,
    http: settings.monitorPort === undefined ? undefined : `${LOOPBACK}:${settings.monitorPort}`,
    ports_file_dir: settings.storeDir,
    log_file: settings.logFile,
    logfile_size_limit: settings.logFile === undefined ? undefined : LOG_FILE_BYTES,
    logfile_max_num: settings.logFile === undefined ? undefined : 3,
  };
  const jetstream = {
    store_dir: settings.storeDir,
    sync_interval: settings.syncInterval,
    max_file_store: FILE_STORE_BYTES,
  };
  const parts = [
    lines(top),
    block('jetstream', jetstream),
    settings.cluster ? block('cluster', clusterLines(settings.cluster)) : '',
    settings.authorization ?? '',
  ];
  return `${parts.join('\n').trim()}\n`;
};

/** A frozen server is left within three seconds. Until then the others send it a part of the reads, which nobody answers. */
const ROUTE_PINGS = { ping_interval: '1s', ping_max: 2 };

const clusterLines = ({ name, port, ports }: NatsClusterSettings): Values => ({
  name,
  listen: `${LOOPBACK}:${port}`,
  routes: ports.map((other) => `nats://${LOOPBACK}:${other}`),
  ...ROUTE_PINGS,
});

type Values = Record<string, string | number | boolean | readonly string[] | undefined>;

const block = (name: string, values: Values): string => `${name} {\n${lines(values)}\n}`;

const lines = (values: Values): string =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');
