import { createServer, type IncomingHttpHeaders } from 'node:http';
import { allBytes, numberOf, readFields, textOf, type Fields } from './protobuf.ts';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  /** Empty for the first of a trace. */
  readonly parent_span_id: string;
  readonly name: string;
  readonly kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly failed: boolean;
  readonly attributes: Attributes;
  /** Attributes of the process that made it. */
  readonly resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Of each request. */
  readonly headers: readonly IncomingHttpHeaders[];
  /** The status of later answers; 200 at first. */
  answer(status: number): void;
}

/** An OpenTelemetry collector that records the traces that it receives over HTTP as protobuf. */
export const openOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      headers.push(request.headers);
      const isTraces = request.method === 'POST' && request.url === '/v1/traces';
      if (isTraces && status === 200) spans.push(...spansIn(Buffer.concat(chunks)));
      response.writeHead(isTraces ? status : 404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the collector has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    headers,
    answer: (next) => {
      status = next;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
};

// The numbers of the fields: https://github.com/open-telemetry/opentelemetry-proto (collector/trace/v1, trace/v1, common/v1)
const spansIn = (request: Uint8Array): ReceivedSpan[] =>
  messages(readFields(request), 1).flatMap((ofResource) => {
    const resource = attributesIn(messages(ofResource, 1)[0], 1);
    return messages(ofResource, 2)
      .flatMap((ofScope) => messages(ofScope, 2))
      .map((span) => spanIn(span, resource));
  });

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS_ERROR = 2;

const spanIn = (span: Fields, resource: Attributes): ReceivedSpan => {
  const [status] = messages(span, 15);
  return {
    trace_id: hex(span, 1),
    span_id: hex(span, 2),
    parent_span_id: hex(span, 4),
    name: textOf(span, 5),
    kind: KINDS[numberOf(span, 6) ?? 0] ?? 'unspecified',
    failed: status !== undefined && numberOf(status, 3) === STATUS_ERROR,
    attributes: attributesIn(span, 9),
    resource,
  };
};

const attributesIn = (fields: Fields | undefined, number: number): Attributes =>
  Object.fromEntries(
    (fields === undefined ? [] : messages(fields, number)).map((pair) => [
      textOf(pair, 1),
      anyValue(messages(pair, 2)[0]),
    ]),
  );

/** Undefined for lists and other types, which our services do not send. */
const anyValue = (value: Fields | undefined): Attributes[string] => {
  if (value === undefined) return undefined;
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return numberOf(value, 2) === 1;
  return numberOf(value, 3);
};

const messages = (fields: Fields, number: number): Fields[] => allBytes(fields, number).map(readFields);

const hex = (fields: Fields, number: number): string =>
  Buffer.from(allBytes(fields, number)[0] ?? []).toString('hex');
