import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { SendFailure } from '@runledger/webhooks/failure-reason';
import { describe, expect, it } from 'vitest';
import { openOutgoingProxy } from '../../src/network/outgoing-proxy.ts';
import { listening } from './network-bed.ts';

const refusing = openOutgoingProxy(() => Promise.reject(new SendFailure('forbidden', 'Not in this test.')));

const aListener = async (): Promise<{ listener: Server; port: number }> => {
  const listener = createServer();
  return { listener, port: await listening(listener) };
};

/** What a client of the proxy is answered: the first line, or nothing. */
const answerAt = async (port: number): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk) => (answer += chunk.toString()));
  socket.write('CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await once(socket, 'close');
  return answer.split('\r\n')[0] ?? '';
};

describe('the connections of the programs of a supervisor', () => {
  it('are served while there is a program, and dropped before and after it', async () => {
    const { listener, port } = await aListener();
    const connections = refusing.open();
    connections.serve(listener);
    expect(await answerAt(port)).toBe('');
    connections.begin();
    expect(await answerAt(port)).toMatch(/^HTTP\/1\.1 403 .*Not in this test\.$/);
    connections.end();
    expect(await answerAt(port)).toBe('');
    connections.begin();
    expect(await answerAt(port)).toMatch(/^HTTP\/1\.1 403 /);
    connections.close();
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  it('leave no listener when the supervisor ends before it is handed over', async () => {
    const { listener } = await aListener();
    const connections = refusing.open();
    connections.close();
    connections.serve(listener);
    expect(listener.listening).toBe(false);
  });
});
