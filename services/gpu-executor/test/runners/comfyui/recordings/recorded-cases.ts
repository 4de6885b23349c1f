import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** One thing that happened between a client and a real server; the README beside this file says where they come from. */
export interface RecordedLine {
  readonly dir:
    | 'http-request'
    | 'http-response'
    | 'http-failed'
    | 'ws-send'
    | 'ws-recv'
    | 'ws-close'
    | 'ws-closed'
    | 'note';
  readonly who?: string;
  /** Joins a request and its answer. */
  readonly n?: number;
  readonly method?: string;
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly body?: unknown;
  readonly binary?: boolean;
  readonly not_json?: boolean;
  readonly upgrade?: boolean;
  readonly control?: boolean;
  readonly code?: number;
  readonly text?: string;
  readonly trimmed?: boolean;
}

export interface RecordedCase {
  readonly version: string;
  /** Such as `e1-exception`. */
  readonly name: string;
  readonly lines: readonly RecordedLine[];
}

export const VERSIONS = ['v0.27.0', 'v0.3.64'] as const;

/** All cases that were recorded of one version of the server. */
export const recordedCases = (version: (typeof VERSIONS)[number]): RecordedCase[] => {
  const text = gunzipSync(readFileSync(join(import.meta.dirname, `${version}.jsonl.gz`))).toString('utf8');
  const cases: { version: string; name: string; lines: RecordedLine[] }[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const read = JSON.parse(line) as RecordedLine | { readonly case: string };
    if ('case' in read) cases.push({ version, name: read.case, lines: [] });
    else cases.at(-1)?.lines.push(read);
  }
  return cases;
};

/** A message of the websocket, as the server sent it; undefined for other lines, and for pings. */
export const recordedMessage = ({
  dir,
  control,
  binary,
  body,
}: RecordedLine): string | Uint8Array | undefined => {
  if (dir !== 'ws-recv' || control === true) return undefined;
  if (binary === true) return Buffer.from((body as { readonly base64: string }).base64, 'base64');
  return typeof body === 'string' ? body : JSON.stringify(body);
};

/** The body of a recorded answer as text. */
export const recordedText = ({ body }: RecordedLine): string =>
  typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
