import { ConfigError } from '@runledger/service-kit/config/config';
import { secret } from '@runledger/service-kit/config/config-schemas';
import { Type, type Static } from 'typebox';

const WITH_S3 = 'with RUNLEDGER_OUTPUTS=s3 or RUNLEDGER_ARCHIVE=s3';

/** Of the names of objects. */
export const S3_PREFIX = '^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,8}$';

export const s3Config = {
  RUNLEDGER_OUTPUTS_S3_ENDPOINT: Type.Optional(
    Type.String({
      pattern: '^https?://[^/?#@\\s]+/?$',
      description: `${WITH_S3}: where the S3-compatible store is reached, such as https://s3.eu-central-1.amazonaws.com; no callback may reach it`,
    }),
  ),
  RUNLEDGER_OUTPUTS_S3_REGION: Type.String({
    pattern: '^[a-z0-9-]{1,64}$',
    default: 'us-east-1',
    description: `${WITH_S3}: the region of the bucket; what the store says where it has none`,
  }),
  RUNLEDGER_OUTPUTS_S3_BUCKET: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
      description: `${WITH_S3}: the bucket, which has to exist`,
    }),
  ),
  RUNLEDGER_OUTPUTS_S3_PREFIX: Type.String({
    pattern: S3_PREFIX,
    default: 'outputs/',
    emptyIsValue: true,
    description: `with RUNLEDGER_OUTPUTS=s3: what the names of all objects begin with, such as runledger/outputs/; everything below it belongs to the gateways`,
  }),
  RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: Type.Optional(
    secret({ description: `${WITH_S3}: the id of the access key` }),
  ),
  RUNLEDGER_OUTPUTS_S3_SECRET_KEY: Type.Optional(
    secret({ description: `${WITH_S3}: the secret of the access key` }),
  ),
  RUNLEDGER_OUTPUTS_S3_PATH_STYLE: Type.Boolean({
    default: true,
    description: `${WITH_S3}: whether the bucket stands in the path; otherwise it is the first part of the host's name`,
  }),
};

export type S3Config = Static<Type.TObject<typeof s3Config>>;

/** A bucket, and who asks it. */
export interface S3Bucket {
  /** Of the bucket, without a slash at the end. */
  readonly url: string;
  readonly name: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** `user`: the setting by which the bucket is needed. @throws {ConfigError} that names each setting which is missing */
export const s3BucketOf = (config: S3Config, user: 'RUNLEDGER_OUTPUTS' | 'RUNLEDGER_ARCHIVE'): S3Bucket => {
  const endpoint = config.RUNLEDGER_OUTPUTS_S3_ENDPOINT;
  const name = config.RUNLEDGER_OUTPUTS_S3_BUCKET;
  const accessKeyId = config.RUNLEDGER_OUTPUTS_S3_ACCESS_KEY;
  const secretAccessKey = config.RUNLEDGER_OUTPUTS_S3_SECRET_KEY;
  if (endpoint && name && accessKeyId && secretAccessKey) {
    const url = bucketUrl(endpoint, name, config.RUNLEDGER_OUTPUTS_S3_PATH_STYLE);
    return { url, name, region: config.RUNLEDGER_OUTPUTS_S3_REGION, accessKeyId, secretAccessKey };
  }
  const missing = [
    [endpoint, 'RUNLEDGER_OUTPUTS_S3_ENDPOINT', 'the URL of the store'],
    [name, 'RUNLEDGER_OUTPUTS_S3_BUCKET', 'the name of an existing bucket'],
    [accessKeyId, 'RUNLEDGER_OUTPUTS_S3_ACCESS_KEY', 'the id of an access key'],
    [
      secretAccessKey,
      'RUNLEDGER_OUTPUTS_S3_SECRET_KEY',
      'the secret of that access key, or name a file with it in RUNLEDGER_OUTPUTS_S3_SECRET_KEY_FILE',
    ],
  ] as const;
  throw new ConfigError(
    missing.flatMap(([value, variable, right]) =>
      value ? [] : [{ variable, wrong: `is not set, and ${user} is "s3"`, right }],
    ),
  );
};

/** `pathStyle`: the bucket is the first part of the path, and not of the host's name. */
export const bucketUrl = (endpoint: string, bucket: string, pathStyle: boolean): string => {
  const { origin, protocol, host } = new URL(endpoint);
  return pathStyle ? `${origin}/${bucket}` : `${protocol}//${bucket}.${host}`;
};
