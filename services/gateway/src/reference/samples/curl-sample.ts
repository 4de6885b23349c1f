import type { SampleRequest } from './sample-request.ts';

/** The request for a shell. `server`: the address of the API with its base path. The key comes from the environment. */
export const curlSample = (request: SampleRequest, server: string): string => {
  const { method, body, headers, answer } = request;
  const given = Object.entries(headers).map(
    ([name, value]) => `--header ${quoted(`${name}: ${String(value)}`)}`,
  );
  return [
    `curl ${quoted(`${server}${addressOf(request)}`)}`,
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    '--header "Authorization: Bearer $RUNLEDGER_API_KEY"',
    ...given,
    ...(body === undefined ? [] : 'json' in body ? jsonBody(body.json) : fileBody(body.file)),
    ...(answer === 'bytes' ? ['--no-buffer'] : []),
  ].join(' \\\n  ');
};

const jsonBody = (value: unknown): string[] => [
  "--header 'Content-Type: application/json'",
  `--data ${quoted(JSON.stringify(value, null, 2))}`,
];

const fileBody = (file: string): string[] => [
  "--header 'Content-Type: application/octet-stream'",
  `--data-binary @${file}`,
];

const addressOf = ({ path, params, query }: SampleRequest): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const asked = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return asked === '' ? filled : `${filled}?${asked}`;
};

/** One word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
