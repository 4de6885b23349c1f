import { quoted } from './broker-configuration.ts';

/** One nats-server of several that hold the log together. */
export interface BrokerNode {
  /** Of this server alone; it names the server in the states of streams. */
  readonly name: string;
  /** Where the others reach it: a name or an address. */
  readonly host: string;
  /** For connections from the others. */
  readonly routePort: number;
}

export interface NodeSettings {
  /** Absolute: where the files of this node lie on its machine. nats-server takes certificates by their whole path only. */
  readonly folder: string;
  /** Absolute: where it stores the log. */
  readonly store: string;
  /** Below which path its monitoring answers: a secret, of characters that an URL may have. */
  readonly monitoring: string;
}

/** The names of the files beside a node's configuration. */
export const NODE_FILES = {
  config: 'nats.conf',
  users: 'broker.conf',
  certificate: 'route.crt',
  key: 'route.key',
  authority: 'authority.crt',
} as const;

export const CLIENT_PORT = 4222;
export const ROUTE_PORT = 6222;
const MONITOR_PORT = 8222;
const CLUSTER = 'runledger';

/**
 * The whole configuration of one nats-server of a cluster. A server without a certificate of the authority cannot join:
 * whoever joins reads and writes the log.
 */
export const nodeConfiguration = (
  node: BrokerNode,
  all: readonly BrokerNode[],
  { folder, store, monitoring }: NodeSettings,
): string => `server_name: ${quoted(node.name)}
port: ${CLIENT_PORT}
# For its health check and its watchdog alone: it tells who is connected and what they listen to. Programs of this machine may reach the port, so
# all that it answers is below a path that is a secret. Only the user of nats-server may read this file, then.
http: "127.0.0.1:${MONITOR_PORT}"
http_base_path: ${quoted(`/${monitoring}`)}

jetstream {
  store_dir: ${quoted(store)}
  # Each message is flushed before it is acknowledged: a 200 means on disk.
  sync_interval: always
  # An upper bound above the limits of all streams together, whatever the disk has room for now.
  max_file_store: 32GB
}

cluster {
  name: ${CLUSTER}
  port: ${node.routePort}
  # Others learn this name from each other, instead of an address that is not in the certificate.
  advertise: ${quoted(`${inUrl(node.host)}:${node.routePort}`)}
  # No no_advertise: what it advertises tells services at once that a node has gone. They connect to none of these addresses.
  # A frozen server is left within three seconds. Until then the others send it a part of the reads, which nobody answers.
  ping_interval: "1s"
  ping_max: 2
  tls {
    cert_file: ${quoted(`${folder}/${NODE_FILES.certificate}`)}
    key_file: ${quoted(`${folder}/${NODE_FILES.key}`)}
    ca_file: ${quoted(`${folder}/${NODE_FILES.authority}`)}
    verify: true
    timeout: 5
  }
  routes: [
${all.map(({ host, routePort }) => `    ${quoted(`nats://${inUrl(host)}:${routePort}`)}`).join('\n')}
  ]
}

# The permissions, which are the same for all.
include './${NODE_FILES.users}'
`;

const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);
