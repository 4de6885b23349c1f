import { NatsConnectionImpl, type NatsConnection } from '@nats-io/transport-node';

/**
 * Sends what one turn of the event loop publishes with one write to the socket. The driver writes after each callback, and a write
 * costs as much processor time as everything else about a message, here and at the broker. Turns that have little to do are short, so
 * nothing waits: Node.js waits for nothing between a callback and `setImmediate`. What is more than the driver's limit (32 KiB) is
 * written at once.
 */
export const writeOnceATurn = (nc: NatsConnection): NatsConnection => {
  if (!(nc instanceof NatsConnectionImpl)) throw new TypeError('The connection is not one of this driver.');
  const { protocol } = nc;
  // The driver has no setting for it. Without this method it would fail here, not later.
  const write = protocol['flushPending'].bind(protocol);
  let isDue = false;
  const writeLater = (): void => {
    if (protocol.outbound.size() >= protocol.pendingLimit) return write();
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      write();
    });
  };
  protocol['flushPending'] = writeLater;
  return nc;
};
