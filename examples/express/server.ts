// node server.ts DEPLOYMENT SECRET [PORT]: queues runs for visitors, and receives their webhooks.
import { argv, stdout } from 'node:process';
import { NotFound, Runledger, ValidationError, verifyWebhook, WebhookInvalid } from '@runledger/client';
import express, { type ErrorRequestHandler } from 'express';

const [deployment = '', secret = '', port = '3000'] = argv.slice(2);
const client = new Runledger(); // RUNLEDGER_URL, RUNLEDGER_API_KEY: they stay on the server
const app = express();
const ended = new Map<string, string>();

app.post('/pictures', express.json(), async (request, response) => {
  const webhook = `http://${request.get('host')}/hook`;
  response.status(202).json(await client.runs.queue(deployment, request.body, { webhook }));
});

app.get('/pictures/:id', async (request, response) => {
  const { status, progress, outputs } = await client.runs.get(request.params.id);
  response.json({ status, progress, outputs, notified: ended.get(request.params.id) ?? null });
});

// The signature is of the bytes, so they must not be parsed before.
app.post('/hook', express.raw({ type: '*/*' }), async (request, response) => {
  const { body, headers } = request;
  const { run_id, status, finished } = await verifyWebhook({ body, headers, secrets: secret });
  if (finished) ended.set(run_id, status);
  response.sendStatus(204);
});

const answerErrors: ErrorRequestHandler = (error, _request, response, next) => {
  if (error instanceof WebhookInvalid) response.status(400).json({ detail: error.message });
  else if (error instanceof NotFound) response.status(404).json({ detail: error.detail });
  else if (error instanceof ValidationError) response.status(422).json({ detail: error.problems });
  else next(error);
};
app.use(answerErrors);

const server = app.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}\n`);
});
