import { fork } from 'node:child_process';
import { once } from 'node:events';
import { hostName, type Hosts, type Manner } from './host-names.ts';
import type { Accepted, ParentMessage } from './receivers-process.ts';

export interface Receivers extends AsyncDisposable {
  readonly pid: number;
  readonly ports: readonly number[];
  readonly dnsServer: string;
  url(manner: Manner, host: number, run: string): string;
  /** Failing hosts accept everything from now on. */
  recover(): void;
  onAccepted(listener: (accepted: readonly Accepted[]) => void): void;
}

/** Of the discard protocol: nobody listens there, and a connection is refused at once. */
const CLOSED_PORT = 9;

export const openReceivers = async (hosts: Hosts): Promise<Receivers> => {
  const child = fork(new URL('receivers-process.ts', import.meta.url), [JSON.stringify(hosts)]);
  const exited = once(child, 'exit');
  let report = (_accepted: readonly Accepted[]): void => undefined;
  const { port, dnsServer } = await new Promise<Extract<ParentMessage, { type: 'ready' }>>(
    (resolve, reject) => {
      child.once('exit', () => reject(new Error('the receivers ended before they were ready')));
      // The child sends nothing else.
      child.on('message', (message: ParentMessage) => {
        switch (message.type) {
          case 'ready':
            return resolve(message);
          case 'accepted':
            return report(message.accepted);
        }
      });
    },
  );
  return {
    pid: child.pid ?? 0,
    ports: [port, CLOSED_PORT],
    dnsServer,
    url: (manner, host, run) =>
      `http://${hostName(manner, host)}:${manner === 'dead' ? CLOSED_PORT : port}/hooks/${run}`,
    recover: () => void child.send('recover'),
    onAccepted: (listener) => {
      report = listener;
    },
    [Symbol.asyncDispose]: async () => {
      child.disconnect();
      await exited;
    },
  };
};
