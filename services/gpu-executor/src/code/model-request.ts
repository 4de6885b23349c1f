import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { headerWith, type CodeManifest, type ModelAtUrl } from '@runledger/contracts/catalogue/code';

/** The values of `secrets` of a manifest, by their variables. */
export type SecretValues = Readonly<Record<string, string>>;

/** How a file of weights is asked for. */
export interface ModelRequest {
  readonly url: string;
  /** For a request to the origin of the URL, and no other one: they may hold secrets. */
  readonly headers: (url: URL) => Promise<Readonly<Record<string, string>>>;
  /** What to look at when the server refuses who asks. */
  readonly whenDenied: string;
}

/** Or, in one sentence, why it cannot be asked for. No sentence has a value of a variable. */
export const modelRequest = (
  path: string,
  model: ModelAtUrl,
  { env = {} }: Pick<CodeManifest, 'env'>,
  secrets: SecretValues,
): ModelRequest | string => {
  if (model.url.startsWith('s3:')) return s3Request(path, model.url, { ...env, ...secrets });
  const headers = Object.entries(model.headers ?? {}).map(
    ([name, value]) => [name, headerWith(value, secrets)] as const,
  );
  const wrong = headers.find(([, value]) => !HEADER_VALUE.test(value));
  if (wrong !== undefined)
    return `The header ${wrong[0]} of the model ${path} cannot be sent: the secret in it has a line end, or a character that no header may have. Set the secret again.`;
  return {
    url: model.url,
    headers: () => Promise.resolve(Object.fromEntries(headers)),
    whenDenied:
      headers.length === 0
        ? 'If it wants a token, give the model headers = { Authorization = "Bearer ${NAME}" }, with a variable of secrets.'
        : `Check its headers (${headers.map(([name]) => name).join(', ')}), and the secrets in them.`,
  };
};

/** RFC 9110, without what is obsolete. */
const HEADER_VALUE = /^[\t\u0020-\u007e]*$/;
const NO_HEADERS = (): Promise<Readonly<Record<string, string>>> => Promise.resolve({});
/** Where no region is set, a bucket says the right one by a redirect to anybody who asks without a signature. */
const DEFAULT_REGION = 'us-east-1';
const EMPTY = createHash('sha256').digest('hex');

/** With the variables that the tools of S3 have: https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html */
const s3Request = (path: string, url: string, variables: SecretValues): ModelRequest | string => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId = '',
    AWS_SECRET_ACCESS_KEY: secretAccessKey = '',
    AWS_SESSION_TOKEN: sessionToken,
    AWS_REGION: region,
    AWS_ENDPOINT_URL_S3: endpoint,
  } = variables;
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/s.exec(url) ?? [];
  const base = endpoint === undefined ? amazonUrl(bucket, region) : endpointUrl(endpoint, bucket);
  if (base === null) return `The variable AWS_ENDPOINT_URL_S3 of the version is no http or https URL.`;
  if ((accessKeyId === '') !== (secretAccessKey === ''))
    return `The model ${path} is in S3, and the version has only one of the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Add the other one to secrets.`;
  const at = `${base}/${key.split('/').map(encodedPart).join('/')}`;
  const whenDenied =
    accessKeyId === ''
      ? 'It was asked without a signature: add AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to secrets.'
      : 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION.';
  if (accessKeyId === '') return { url: at, headers: NO_HEADERS, whenDenied };
  const sign = async (asked: URL): Promise<Readonly<Record<string, string>>> => {
    const signed = await new AwsV4Signer({
      method: 'GET',
      url: asked.href,
      headers: { 'x-amz-content-sha256': EMPTY },
      region: region ?? DEFAULT_REGION,
      service: 's3',
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    }).sign();
    return Object.fromEntries(signed.headers);
  };
  return { url: at, headers: sign, whenDenied };
};

/** A certificate of Amazon is for one name before its own, and a name of a bucket may have dots. */
const amazonUrl = (bucket: string, region: string | undefined): string => {
  const host = region === undefined ? 's3.amazonaws.com' : `s3.${region}.amazonaws.com`;
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
};

const endpointUrl = (endpoint: string, bucket: string): string | null =>
  /^https?:$/.test(URL.parse(endpoint)?.protocol ?? '') ? `${endpoint.replace(/\/+$/, '')}/${bucket}` : null;

/** As the signature has it: all but unreserved characters. */
const encodedPart = (part: string): string =>
  encodeURIComponent(part.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
