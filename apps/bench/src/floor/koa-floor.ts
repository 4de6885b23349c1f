import { Router } from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { QUEUE } from '../load.ts';

/** What the HTTP libraries of the gateway alone can do: constants, as large as real answers. A process of its own. */
const RUN = { id: 'floor', status: 'success', outputs: [{ data: { text: ['x'.repeat(2_800)] } }] };

const router = new Router();
router.post(QUEUE, (context) => {
  context.body = { run_id: '00000000-0000-7000-8000-000000000000' };
});
router.get('/run/:run_id', (context) => {
  context.body = RUN;
});
const app = new Koa().use(bodyParser()).use(router.routes());
const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.on('disconnect', () => process.exit(0));
