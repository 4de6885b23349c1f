import type { CallbackAddresses } from '@runledger/webhooks/resolve-callback';
import { openSender, type SendResult, type Sender, type SenderOptions } from '../../src/sender.ts';
import type { OutgoingRequest } from '../../src/exchange.ts';

/** A sender whose names all stand for these addresses, and that may connect to each of them. It takes them for public ones. */
export const senderTo = (
  addresses: readonly string[] = ['127.0.0.1'],
  options: Partial<SenderOptions> = {},
): Sender =>
  openSender({
    resolve: () => Promise.resolve<CallbackAddresses>({ kind: 'allowed', addresses, arePublic: true }),
    mayConnect: (_host, address) => addresses.includes(address),
    withinMs: 15_000,
    ...options,
  });

export const outgoing = (url: URL, body = '{"run_id":"one"}'): OutgoingRequest => ({
  url,
  headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
  body: Buffer.from(body),
});

export const send = (sender: Sender, url: URL, body?: string): Promise<SendResult> =>
  sender.send(outgoing(url, body), new AbortController().signal);

/** One try with a sender of its own. */
export const sendOnce = async (url: URL, options: Partial<SenderOptions> = {}): Promise<SendResult> => {
  await using sender = senderTo(['127.0.0.1'], options);
  return await send(sender, url);
};
