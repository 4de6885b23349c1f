import { startTestServer } from './test-server.ts';

/** The test server as a process of its own: `main.ts PORT`. It ends with its first crash. */
const port = Number(process.argv[2]);
await startTestServer({ port, onCrash: () => process.exit(9) });
