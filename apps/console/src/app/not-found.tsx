import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

export const NotFound = (): ReactNode => (
  <main className="sign-in stack">
    <h1>There is no such page</h1>
    <p>
      The console has nothing at this address. <Link to="/runs">All runs</Link> are a good place to go on.
    </p>
  </main>
);
