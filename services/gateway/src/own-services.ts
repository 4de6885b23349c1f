import { brokerHosts, httpHost } from '@runledger/webhooks/hosts';
import type { GatewayConfig } from './config.ts';
import { bucketUrl } from './files/stores/s3-requests.ts';

/** The settings that name services which no callback may reach. */
export type OwnSettings = Pick<
  GatewayConfig,
  | 'NATS_URL'
  | 'RUNLEDGER_VIEWS'
  | 'MONGODB_URL'
  | 'RUNLEDGER_PUBLIC_URL'
  | 'RUNLEDGER_OUTPUTS'
  | 'RUNLEDGER_ARCHIVE'
  | 'RUNLEDGER_OUTPUTS_S3_ENDPOINT'
  | 'RUNLEDGER_OUTPUTS_S3_BUCKET'
>;

/** The installation's own services as `host:port`, or `host` for all its ports; `listening` are URLs of this process. */
export const ownServices = (config: OwnSettings, listening: readonly string[]): string[] => {
  const { RUNLEDGER_PUBLIC_URL } = config;
  const http = [...listening, ...(RUNLEDGER_PUBLIC_URL === undefined ? [] : [RUNLEDGER_PUBLIC_URL])];
  return [
    ...brokerHosts(config.NATS_URL),
    ...(config.RUNLEDGER_VIEWS === 'mongodb' ? mongoHosts(config.MONGODB_URL) : []),
    ...([config.RUNLEDGER_OUTPUTS, config.RUNLEDGER_ARCHIVE].includes('s3') ? s3Hosts(config) : []),
    ...http.flatMap(httpHost),
  ];
};

/** By both of its names: a bucket may stand in the path, or in the host's name. */
const s3Hosts = ({
  RUNLEDGER_OUTPUTS_S3_ENDPOINT: endpoint,
  RUNLEDGER_OUTPUTS_S3_BUCKET: bucket,
}: OwnSettings): string[] =>
  endpoint === undefined || bucket === undefined
    ? []
    : [true, false].flatMap((pathStyle) => httpHost(bucketUrl(endpoint, bucket, pathStyle)));

/** Several hosts with commas between them, which no URL parser accepts. The name of SRV records counts for every port. */
const mongoHosts = (text: string): string[] => {
  const [, srv, hosts = ''] = /^mongodb(\+srv)?:\/\/(?:[^/]*@)?([^/?]*)/.exec(text) ?? [];
  return hosts
    .split(',')
    .filter((host) => host !== '' && !isSocketPath(host))
    .map((host) => (srv !== undefined || hasPort(host) ? host : `${host}:27017`));
};

const isSocketPath = (host: string): boolean => host.includes('%');

const hasPort = (host: string): boolean => /:\d+$/.test(host.replace(/^\[[^\]]*\]/, ''));
