import { startTestServer } from './test-server.ts';

/** The test server as a process of its own, on the port of the environment. */
await startTestServer({
  port: Number(process.env['PORT']),
  isLogging: true,
  onCrash: () => process.exit(9),
});
