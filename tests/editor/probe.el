;; Open the file, and print what the language server offers and says.
(require 'eglot)
(setq eglot-sync-connect t eglot-connect-timeout 20)
(find-file "conf/domain/vowels.yaml")
(yaml-mode)
(apply #'eglot (eglot--guess-contact))
(let ((end (+ (float-time) 20)))
  (while (and (< (float-time) end) (< (length (flymake-diagnostics)) 2)) (accept-process-output nil 0.2)))
(dolist (found (flymake-diagnostics)) (message "DIAG %s" (flymake-diagnostic-text found)))
(let ((answer (jsonrpc-request (eglot-current-server) :textDocument/completion
               (list :textDocument (eglot--TextDocumentIdentifier) :position '(:line 7 :character 7)))))
  (mapc (lambda (item) (message "ITEM %s" (plist-get item :label))) (or (plist-get answer :items) answer)))
(kill-emacs)
