// The HEALTHCHECK of the services' images: exits with 0 if the service of this container is ready, else prints the reason.
const port = process.env.RUNLEDGER_HEALTH_PORT;
try {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(4_000) });
  process.stdout.write(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  const why = error.cause?.message ?? error.message;
  process.stdout.write(`The health server at port ${port} does not answer: ${why}\n`);
  process.exitCode = 1;
}
