import { connect } from '@nats-io/transport-node';
import { DELIVERED, FIRST, SECOND } from './subjects.ts';

/** Stores a second message for each first one that it gets, and does nothing else. A process of its own. */
const broker = await connect({ servers: process.argv.slice(2) });
broker.subscribe(DELIVERED, {
  callback: (_, { subject, data }) => {
    broker.publish(subject.replace(FIRST, SECOND), data);
  },
});
await broker.flush();
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
