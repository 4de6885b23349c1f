// The HEALTHCHECK of the services' images: exits with 0 if the service of this container is ready, else prints what is missing, and why if
// the service has a token.
import { readFileSync } from 'node:fs';

const { RUNLEDGER_HEALTH_PORT: port, RUNLEDGER_HEALTH_TOKEN_FILE: file } = process.env;
try {
  const token = file ? readFileSync(file, 'utf8').trim() : process.env.RUNLEDGER_HEALTH_TOKEN;
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.timeout(4_000),
  });
  process.stdout.write(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  const why = error.cause?.message ?? error.message;
  process.stdout.write(`The health server at port ${port} does not answer: ${why}\n`);
  process.exitCode = 1;
}
