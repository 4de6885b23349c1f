import { connect } from 'node:net';

const ANSWER_WITHIN_MS = 2_000;
const LONGEST_ANSWER = 1_048_576;

// OP_MSG with the BSON document {hello: 1, $db: 'admin'}; see the MongoDB wire protocol and bsonspec.org.
const HELLO = ((): Buffer => {
  const members = Buffer.from('\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0', 'latin1');
  const message = Buffer.alloc(16 + 4 + 1 + 4 + members.length);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(1, 4);
  message.writeInt32LE(2013, 12);
  message.writeInt32LE(4 + members.length, 21);
  members.copy(message, 25);
  return message;
})();

const IS_WRITABLE = Buffer.from('\x08isWritablePrimary\0\x01', 'latin1');

/** Whether a MongoDB server on this port of the loopback address accepts writes. */
export const acceptsWrites = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_WITHIN_MS });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    let received = Buffer.alloc(0);
    socket.once('connect', () => socket.write(HELLO));
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const whole = received.length >= 4 && received.length >= received.readInt32LE(0);
      if (whole || received.length > LONGEST_ANSWER) answer(received.includes(IS_WRITABLE));
    });
    for (const end of ['error', 'timeout', 'end']) socket.once(end, () => answer(false));
  });
