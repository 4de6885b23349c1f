import { connect } from '@nats-io/transport-node';
import { deliveredAs, factOf, storedAs } from './subjects.ts';

/** Stores messages for each one that it gets, and does nothing else. A process of its own: `relay.ts URL FROM TO…`. */
const [url = '', from = '', ...to] = process.argv.slice(2);
const broker = await connect({ servers: url });
broker.subscribe(deliveredAs(from), {
  callback: (_, { subject, data }) => {
    for (const fact of to) broker.publish(storedAs(fact, factOf(subject).run), data);
  },
});
await broker.flush();
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
