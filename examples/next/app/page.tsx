import { env } from 'node:process';
import type { ReactNode } from 'react';
import { RunButton } from './run-button.tsx';

/** Reads the environment for each request, not when it is built. */
export const dynamic = 'force-dynamic';

const Page = (): ReactNode => (
  <RunButton url={env['RUNLEDGER_URL'] ?? ''} deployment={env['RUNLEDGER_DEPLOYMENT'] ?? ''} />
);
export default Page;
