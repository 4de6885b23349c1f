import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { router } from './app/router.tsx';
import { followTheme } from './app/theme.ts';
import './ui/base.css';

const root = document.querySelector('#console');
if (root === null) throw new Error('The page has no element for the console.');
followTheme();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
