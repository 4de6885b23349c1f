/** The receivers of a bench, in a process of their own: one HTTP server for all names, and the DNS server that knows them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stubDns } from '@runledger/testing/stand-ins/stub-dns';
import { allNames, isFailing, isHanging, type Hosts } from './host-names.ts';

/** Run id, and when it arrived on the system's monotonic clock, in milliseconds. */
export type Accepted = readonly [run: string, at: number];

/** What this process reports to its parent. */
export type ParentMessage =
  | { readonly type: 'ready'; readonly port: number; readonly dnsServer: string }
  | { readonly type: 'accepted'; readonly accepted: readonly Accepted[] };

const TELL_EVERY_MS = 20;
const RUN_ID = /"run_id":"([^"]+)"/;

// Only `openReceivers` starts this file, with such an argument.
const hosts = JSON.parse(process.argv[2] ?? '') as Hosts;
const dns = await stubDns(Object.fromEntries(allNames(hosts).map((name) => [name, ['127.0.0.1']])));

let accepted: Accepted[] = [];
let recovered = false;
/** Of hosts that hang: they are kept, so that nothing ends them but the sender. */
const unanswered = new Set<ServerResponse>();

const server = createServer((request, response) => {
  const hangs = isHanging(request.headers.host ?? '');
  if (hangs) {
    unanswered.add(response);
    response.once('close', () => unanswered.delete(response));
  }
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const [, run] = RUN_ID.exec(body) ?? [];
    if (hangs || run === undefined) return;
    if (!recovered && isFailing(request.headers.host ?? '')) return void response.writeHead(503).end();
    accepted.push([run, Number(process.hrtime.bigint()) / 1e6]);
    response.end('ok');
  });
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', 4_096, resolve));

const report = (message: ParentMessage): void => void process.send?.(message);
setInterval(() => {
  if (accepted.length > 0) report({ type: 'accepted', accepted });
  accepted = [];
}, TELL_EVERY_MS);
/** The parent sends nothing else. */
process.on('message', () => (recovered = true));
process.once('disconnect', () => process.exit());
// A listening TCP server has such an address.
report({ type: 'ready', port: (server.address() as AddressInfo).port, dnsServer: dns.server });
