/** `always`: each message before it is acknowledged. Else all of them, so often. */
export type SyncInterval = 'always' | `${number}${'ms' | 's' | 'm'}`;

export interface NatsServerSettings {
  readonly storeDir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where it tells how it is, on loopback and without a password: `/healthz`, `/varz` and more. Nowhere when left out. */
  readonly monitorPort?: number;
  readonly serverName: string;
  /** When stored messages are flushed to disk. */
  readonly syncInterval: SyncInterval;
  /** Bytes. */
  readonly maxPayload?: number;
  /** Bytes. */
  readonly memoryStoreLimit?: number;
  /** Bytes. */
  readonly fileStoreLimit?: number;
  readonly logFile?: string;
  /** A part of nats-server's configuration, taken over as it is: `authorization {…}` or `accounts {…}`. */
  readonly authorization?: string;
}

const LOG_FILE_BYTES = 16 * 1024 * 1024;

/** The settings in nats-server's own configuration language. */
export const natsServerConfig = (settings: NatsServerSettings): string => {
  const top = {
    server_name: settings.serverName,
    host: settings.host,
    // nats-server reads 0 as its default port, and -1 as any.
    port: settings.port === 0 ? -1 : settings.port,
    http: settings.monitorPort === undefined ? undefined : `127.0.0.1:${settings.monitorPort}`,
    ports_file_dir: settings.storeDir,
    max_payload: settings.maxPayload,
    log_file: settings.logFile,
    logfile_size_limit: settings.logFile === undefined ? undefined : LOG_FILE_BYTES,
    logfile_max_num: settings.logFile === undefined ? undefined : 3,
  };
  const jetstream = {
    store_dir: settings.storeDir,
    sync_interval: settings.syncInterval,
    max_memory_store: settings.memoryStoreLimit,
    max_file_store: settings.fileStoreLimit,
  };
  const parts = [lines(top), `jetstream {\n${lines(jetstream)}\n}`, settings.authorization ?? ''];
  return `${parts.join('\n').trim()}\n`;
};

const lines = (values: Record<string, string | number | undefined>): string =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');
